"""Why pods that ask by amounts get no devices, and what would help."""
