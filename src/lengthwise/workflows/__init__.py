"""What joins several subsystems for a person."""
