"""Benchmarks: inputs with fixed seeds, measurements, and the figures compared with their bounds.

Only this package reads the clock; the core gets values and returns values.
"""
