"""NVML in a process of its own: what hangs, crashes or is outdated in the driver's library ends with it.

``child`` is its program; ``session`` what the rest of the hardware sees of it.
"""
