"""The page of who holds what, from files or a running cluster."""
