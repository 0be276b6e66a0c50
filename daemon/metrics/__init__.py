"""The metrics of a program: their definitions, their values, and their text for Prometheus."""
