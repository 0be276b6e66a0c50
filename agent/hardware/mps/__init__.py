"""The control daemons of CUDA's MPS: the port, and the adapter over NVIDIA's program."""
