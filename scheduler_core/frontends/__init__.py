"""Front ends: annotated pods and claims, GPU partitions and resource classes, answered by the same core.

Takes JSON values; returns values. Users write names of vendors here, so this is the only package of the core
that knows some.
"""
