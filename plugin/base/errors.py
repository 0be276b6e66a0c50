"""The errors of the plugin: one class for each different remedy.

Every message says what was attempted, on which object, why it failed and who acts. ``retry`` says whether the
same call may succeed later, ``claim_uid`` which claim it was for. Only ``plugin.kubelet.dra_service``
translates them to the kubelet's answer.
"""

from __future__ import annotations

from scheduler_core.model.claim import ClaimUid


class PluginError(Exception):
    """The base of everything the plugin raises.

    Shape: ``attempted`` is a verb that the subject can follow (``prepare``, ``turn MIG mode on for``).
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
    remedy = "it is retried; if it persists, the node's ResourceSlices are out of date: check the agent's log"


class NoSuchDevice(UnknownDevice):
    """An allocated device of which this node knows nothing at all, not even why it is missing."""


class ClaimUnreadable(PluginError):
    """A claim that could not be read from the API server or the claims folder."""

    retry = True


class ReportFailed(PluginError):
    """A claim's status that could not be written. The claim's devices are not affected."""

    def __init__(self, attempted: str, subject: str, reason: str, remedy: str, *, retry: bool) -> None:
        self.retry = retry
        super().__init__(attempted, subject, reason, remedy)


class DeviceHeld(PluginError):
    """A device that another claim holds, whole or in part."""

    retry = True
    remedy = "it is retried until the other claim is unprepared"


class DeviceUnusable(ClaimUnusable):
    """A device of a kind that cannot be prepared, as the node was read last."""


class PlacementTaken(PluginError):
    """A placement, a GPU or links that somebody uses and no claim of this driver has."""

    retry = True
    remedy = "the operator, or the program that created the instance, must destroy it"


class ModeBlocked(PluginError):
    """A MIG mode that only the operator can change: the GPU must be reset from outside."""

    remedy = "the operator changes the mode and resets the GPU"


class GpuBusy(PluginError):
    """A MIG mode that cannot change while somebody uses the GPU."""

    retry = True
    remedy = "it is retried; stop what uses the GPU (a monitor, a daemon, another process)"


class HardwareFailed(PluginError):
    """The hardware refused. Reason and ``retry`` are those of the hardware's error."""

    def __init__(self, attempted: str, subject: str, reason: str, *, retry: bool) -> None:
        self.retry = retry
        super().__init__(attempted, subject, reason)


class NotReady(PluginError):
    """Every step succeeded, but the result cannot be used: a device node, file or instance is missing."""

    retry = True
    remedy = "it is retried; if it persists, the operator checks the driver installation"


class InterfaceElsewhere(PluginError):
    """A network interface that another pod has: it can be in one network namespace only."""

    retry = True
    remedy = "the user gives each pod a claim of its own, from a ResourceClaimTemplate"


class LockTimeout(PluginError):
    """A lock that another operation did not release in time."""

    retry = True
    remedy = "it is retried"


class CallerGone(PluginError):
    """A call whose caller gave up waiting: nothing more is begun for it, and nobody reads the answer."""

    retry = True


class HardwareHangs(PluginError):
    """A piece of hardware on which a call of this process has not returned for long."""

    retry = True
    remedy = "it is retried; if it persists, the operator checks the kernel's log, then resets or reboots"


class StorageFailed(PluginError):
    """A durable file could not be read, written or removed."""

    retry = True
    remedy = "the operator checks the disk and its permissions"


class RecordUnusable(PluginError):
    """A record that cannot be believed. Its claim keeps what it may hold, and nothing is undone by it."""


class RecordDamaged(RecordUnusable):
    """A record of which not every line is sound, or which cannot be read."""

    retry = True
    remedy = (
        "its devices stay reserved until its pod is deleted, or the operator releases them, "
        "once no container uses them"
    )


class RecordTooNew(RecordUnusable):
    """A record written by a newer version of this plugin."""

    remedy = (
        "the operator upgrades the plugin again, or drains the node with the newer version first, or "
        "releases its devices, once no container uses them"
    )


class NotQuarantined(PluginError):
    """A claim that is to be released and has a sound record, or none: the end of its pod releases it."""


class InvalidCdi(PluginError):
    """A CDI document that breaks the rules of the specification: a mistake of this program."""


class Unexpected(PluginError):
    """Any other exception: a mistake of this program."""

    retry = True
    remedy = "it is retried; if it persists, report it with the plugin's log"


class IllegalEvent(PluginError):
    """An event that a claim's state does not allow: a mistake of this program. Nothing has changed."""


class SocketTaken(PluginError):
    """A socket path that somebody else uses."""
