"""How the command writes, and what it removes when it ends."""
