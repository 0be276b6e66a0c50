"""Access to a Kubernetes API server. Imports none of the other packages; programs hand it in as a port."""
