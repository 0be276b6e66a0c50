"""Resource classes in the cluster: how many devices each class selects, and how many of them are held.

Takes ResourceClass objects and follows a ``ClusterState``; returns statuses that are to be written. Nothing
here asks a server (docs/decisions/0063-resource-classes-in-a-cluster.md).
"""
