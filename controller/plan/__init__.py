"""What is written for a decision."""
