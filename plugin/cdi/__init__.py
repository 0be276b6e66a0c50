"""CDI documents: what a container runtime reads of prepared devices."""
