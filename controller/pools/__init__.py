"""Pools that no node owns: devices of several nodes, published from MultiNodePool objects.

Takes objects and the stored slices; returns and makes the writes that publish the objects' devices as
ResourceSlices (docs/decisions/0064-devices-of-many-nodes.md).
"""
