"""What a pod waits for, and which devices it gets."""
