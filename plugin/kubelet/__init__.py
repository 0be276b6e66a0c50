"""The kubelet's side: sockets, registration, the services that it calls."""
