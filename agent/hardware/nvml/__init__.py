"""GPUs through NVML, the driver's management library.

Device handles and return codes stay inside this package; callers see UUIDs, values and typed errors.
"""

from agent.hardware.nvml.adapter import Nvml

__all__ = ["Nvml"]
