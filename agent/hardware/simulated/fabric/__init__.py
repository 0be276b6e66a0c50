"""The simulated fabric manager."""
