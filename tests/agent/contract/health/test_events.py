"""The simulated driver and the NVML adapter tell of events by one contract."""

from gpu_contract.events import *  # noqa: F403

NODE = "a100x2"
