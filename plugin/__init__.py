"""Making an allocation real on its node, and undoing it: the kubelet plugin."""
