"""The kinds of devices: each is one file or one small folder, and a row of the table in ``registry.py``."""
