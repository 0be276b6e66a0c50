"""What the links between GPUs let be offered: partitions of the fabric manager, IMEX channels."""
