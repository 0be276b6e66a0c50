"""The VFs of NICs: how many there are, by rules and the option that gives them, and which are offered."""
