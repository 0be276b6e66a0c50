"""B14: groups of pods."""
