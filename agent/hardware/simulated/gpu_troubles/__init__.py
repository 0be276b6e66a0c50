"""What can be wrong with simulated GPUs and what their driver raises: values, their text, the last events."""
