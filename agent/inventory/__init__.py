"""What is on this node: discover it, name it, describe it. No adapter is named here."""
