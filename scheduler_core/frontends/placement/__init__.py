"""The node of a pod that asks for devices by amounts: which of many nodes has the devices that fit best."""
