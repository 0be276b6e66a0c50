"""Pods as an API server admits them: the amounts that they ask for become a claim."""
