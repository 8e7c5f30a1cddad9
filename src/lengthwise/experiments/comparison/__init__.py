"""Trains every sensible position system on one task under one budget, and ranks them by how far each goes."""
