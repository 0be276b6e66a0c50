"""The launcher of a real Kubernetes in namespaces of its own: hack/cluster is its command line.

Its parts: the pinned programs (``toolset``, ``go``, ``build``), what a part is and how it is started
(``part``, ``control_plane``, ``node``), the supervisor inside and the client that tests speak through.
"""
