"""Rewrites what was written for NVIDIA's drivers, or for the SR-IOV device plugin, as claims of this driver.

Takes API objects; returns them with other classes, attributes and claims, and a list of what has nothing
here that means the same. What is not understood stays as it was.
"""
