"""What a trained model computes, where it breaks, and why."""
