"""What the kinds of devices share that pods get as a network interface."""
