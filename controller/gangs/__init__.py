"""Groups of pods that get devices together or not at all: who belongs together, and what it waits for."""
