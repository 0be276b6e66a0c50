"""``tangram validate``: what it reads, and the schemas that it judges by."""
