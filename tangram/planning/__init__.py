"""``tangram plan`` and ``tangram simulate``: what they read, and how they show it."""
