"""The kubelet plugin: prepares and unprepares allocated claims on one node."""
