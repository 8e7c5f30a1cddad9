"""Sweeps on many machines: leases on shared storage, the work under them, and the schedulers that start it."""
