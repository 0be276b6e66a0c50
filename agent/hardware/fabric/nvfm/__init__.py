"""The adapter to ``libnvfm``, the fabric manager's library. It has not run on real hardware yet."""

from agent.hardware.fabric.nvfm.adapter import Nvfm

__all__ = ["Nvfm"]
