"""What the driver and the kernel tell of the health of devices: values, and the ports that give them."""
