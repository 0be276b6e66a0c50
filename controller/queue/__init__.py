"""Which pod is tried next."""
