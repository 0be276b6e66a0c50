"""What can go wrong while claims are prepared, by who has to act.

One class per thing that somebody must do differently. Every message says what was attempted, on which
object, why it failed and who acts; ``retry`` says whether the same call may work later, ``claim_uid``
which claim it was for. Translation to the kubelet's answer happens in ``plugin.servicer`` only.
"""

from __future__ import annotations

from scheduler_core.model.claim import ClaimUid


class PluginError(Exception):
    """The base of everything the plugin raises.

    Shape: ``attempted`` is a verb with what it needs (``prepare``, ``turn MIG mode on for``).
    """

    retry = False
    remedy = ""
    claim_uid: ClaimUid | None = None

    def __init__(self, attempted: str, subject: str, reason: str, remedy: str | None = None) -> None:
        self.attempted = attempted
        self.subject = subject
        self.reason = reason
        if remedy is not None:
            self.remedy = remedy
        text = f"cannot {attempted} {subject}: {reason}"
        super().__init__(f"{text}; {self.remedy}" if self.remedy else text)


class ClaimUnusable(PluginError):
    """A claim that cannot be prepared as it is: not allocated, replaced, or asking for too much."""


class UnknownDevice(ClaimUnusable):
    """An allocated device that this node does not have (any more)."""

    retry = True
    remedy = "it is retried; if it stays, the node's ResourceSlices are out of date: look at the agent"


class ClaimUnreadable(PluginError):
    """A claim that could not be read from where claims come from."""

    retry = True


class ReportFailed(PluginError):
    """A claim's status that could not be written; the claim itself is as it should be."""

    def __init__(self, attempted: str, subject: str, reason: str, remedy: str, *, retry: bool) -> None:
        self.retry = retry
        super().__init__(attempted, subject, reason, remedy)


class DeviceHeld(PluginError):
    """A device that another prepared claim holds, whole or in part."""

    retry = True
    remedy = "it is retried until the other claim is unprepared"


class PlacementTaken(PluginError):
    """Hardware that an instance occupies which no claim of ours made."""

    retry = True
    remedy = "whoever made the instance removes it, or the operator does"


class ModeBlocked(PluginError):
    """A MIG mode that only the operator can change, because the GPU must be reset from outside."""

    remedy = "the operator changes the mode and resets the GPU"


class GpuBusy(PluginError):
    """A MIG mode that cannot change while somebody uses the GPU."""

    retry = True
    remedy = "it is retried; whatever uses the GPU (a monitor, a daemon, a process) must let go of it"


class HardwareFailed(PluginError):
    """The hardware refused; the reason is its own message, ``retry`` what the hardware says of it."""

    def __init__(self, attempted: str, subject: str, reason: str, *, retry: bool) -> None:
        self.retry = retry
        super().__init__(attempted, subject, reason)


class NotReady(PluginError):
    """Everything was done and yet the result is not usable: a node or a file is missing."""

    retry = True
    remedy = "it is retried; if it stays, the operator checks the driver installation"


class LockTimeout(PluginError):
    """Another operation held a lock for too long."""

    retry = True
    remedy = "it is retried"


class StorageFailed(PluginError):
    """A durable file could not be read, written or removed."""

    retry = True
    remedy = "the operator checks the disk and its permissions"


class RecordTooNew(PluginError):
    """A record written by a newer version of this plugin."""

    remedy = "the operator upgrades the plugin again, or drains the node with the newer version first"


class InvalidCdi(PluginError):
    """A CDI document that breaks the rules of the specification: our mistake."""


class Unexpected(PluginError):
    """Something that no class of ours describes: our mistake."""

    retry = True
    remedy = "it is retried; if it stays, report it with the plugin's log"


class IllegalEvent(PluginError):
    """An event that the state of a claim does not know: our mistake. Nothing has changed."""


class SocketTaken(PluginError):
    """A socket path that somebody else uses."""
