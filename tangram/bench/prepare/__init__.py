"""Benchmarks of the plugin: calls over its socket."""
