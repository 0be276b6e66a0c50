"""A VF of a NIC: what is recorded of one, and a row of the table for each form in which containers get it."""
