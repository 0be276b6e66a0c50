"""A MIG partition: what is recorded of it, its instances, and the row of the table."""
