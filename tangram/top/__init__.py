"""What ``tangram top`` reads of a running cluster, and what of it is shown."""
