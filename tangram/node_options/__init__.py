"""Options of the commands that describe a node: modes of GPUs, tables, numbers of VFs."""
