"""MIG modes beside claims: those that are to stay on."""
