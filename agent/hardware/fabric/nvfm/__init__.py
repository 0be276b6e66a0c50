"""Calls ``libnvfm``, the fabric manager's library, by ctypes. Never run on real hardware so far."""

from agent.hardware.fabric.nvfm.adapter import Nvfm

__all__ = ["Nvfm"]
