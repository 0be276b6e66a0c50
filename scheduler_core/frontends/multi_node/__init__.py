"""Pools that no node owns: what the controller publishes of a MultiNodePool, and what keeps it from doing so.

Documents in, documents and sentences out. The controller writes what this package returns, and the commands
show it before the object is applied.
"""
