"""``tangram migrate``: its options, its files and what it prints."""
