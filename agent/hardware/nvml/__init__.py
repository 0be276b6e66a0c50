"""GPUs through NVML, the driver's management library.

Device handles and return codes stay inside; ours are UUIDs, values and typed refusals.
"""

from agent.hardware.nvml.adapter import Nvml

__all__ = ["Nvml"]
