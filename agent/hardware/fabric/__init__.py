"""The fabric manager: which groups of GPUs NVSwitches can join, and which are joined now."""
