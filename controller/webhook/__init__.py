"""The webhook: turns amounts of devices in pods into claims (docs/decisions/0061-webhook-server.md)."""
