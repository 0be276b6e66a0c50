"""The text forms of faults, for the help of ``tangram node fault``. Nothing here interprets them."""

from __future__ import annotations

from typing import Final

FAULT_GRAMMAR: Final = """\
A FAULT is one of
  gpu-MINOR:lost                   the GPU fell off the bus, until a reset or reboot
  gpu-MINOR:in-use                 a client holds the GPU: its MIG mode cannot change
  TARGET:CALL:REFUSAL[:TIMES]      the call fails
  TARGET:CALL:slow=SECONDS[:TIMES] the call takes longer, such as slow=2.5
  TARGET:CALL:kill-before[:TIMES]  the calling process dies before the call does anything
  TARGET:CALL:kill-after[:TIMES]   the calling process dies after all that the call does

TARGET   gpu-MINOR, or machine for every GPU (the only target of versions)
CALL     versions, gpus, mig-mode, profiles, gpu-instances, set-mig-mode,
         create-gpu-instance, create-compute-instance,
         destroy-compute-instance, destroy-gpu-instance
REFUSAL  not-supported, not-found, invalid-argument, no-permission, in-use,
         insufficient-resources, timed-out, gpu-lost, reset-required,
         driver-missing, hardware-fault
TIMES    for so many calls, from 1; without it for all, a kill once

examples:
  tangram node fault --machine /tmp/m gpu-3:lost
  tangram node fault --machine /tmp/m gpu-0:create-compute-instance:in-use:1
  tangram node fault --machine /tmp/m machine:mig-mode:slow=2.5 gpu-1:destroy-gpu-instance:kill-after
"""
