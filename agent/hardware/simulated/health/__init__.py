"""The health of simulated GPUs: what troubles do to it, the events that tell of it, what is read of it."""
