"""Benchmarks of the agent: how long it takes to look at a node."""
