"""The simulated driver and the NVML adapter keep one contract."""

from gpu_contract.reading import *  # noqa: F403
from gpu_contract.writing import *  # noqa: F403
