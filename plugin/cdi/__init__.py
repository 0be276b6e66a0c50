"""CDI documents: what a container runtime reads about prepared devices."""
