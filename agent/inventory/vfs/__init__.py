"""The number of VFs per NIC: its rules, and the option that gives them."""
