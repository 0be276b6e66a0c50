"""Benchmarks: inputs with fixed seeds, what is measured on them, and the figures beside what they must be.

The clock is read here and nowhere below; the core is handed values and hands values back.
"""
