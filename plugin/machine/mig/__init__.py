"""The MIG mode of GPUs: who turned it on, when it changes, and who is in the way."""
