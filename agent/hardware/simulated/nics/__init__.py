"""The NICs of a simulated machine: pure rules from state to state, and the files that show a state."""
