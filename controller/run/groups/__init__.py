"""Groups of pods in the controller: who is in them, how they are decided together, what they give back."""
