"""Workflows that combine several subsystems behind one command."""
