"""API objects as plain dictionaries, to the model and back. Pure; every error names its path."""
