"""The taints of devices: the mark of an allocator, and why no claim, or no new pod, could have a device."""
