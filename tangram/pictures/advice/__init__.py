"""Pictures of why claims do not fit, and of what would help."""
