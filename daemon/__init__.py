"""What the long-running programs share. Imports none of the other packages."""
