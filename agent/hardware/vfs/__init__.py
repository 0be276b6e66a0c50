"""The VFs of PFs: how they are found and read."""
