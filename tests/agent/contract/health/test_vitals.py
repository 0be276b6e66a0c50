"""The simulated driver and the NVML adapter tell of vitals by one contract."""

from gpu_contract.vitals import *  # noqa: F403

NODE = "hgx-h100"
