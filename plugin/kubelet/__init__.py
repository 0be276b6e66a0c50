"""The kubelet's side: sockets, registration, the services that the kubelet calls."""
