"""What the controller knows of its cluster, changed object by object."""
