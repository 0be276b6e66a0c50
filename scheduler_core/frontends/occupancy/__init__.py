"""What is there, and who holds it: GPUs by memory slice, NICs with their VFs, and totals by namespace."""
