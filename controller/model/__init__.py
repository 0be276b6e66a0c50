"""Values of pods, nodes and claims, read from the documents of an API server."""
