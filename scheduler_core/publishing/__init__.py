"""How objects at an API server become the wanted ones: which writes, and what the server kept. Pure."""
