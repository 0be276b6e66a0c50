"""The kinds of findings, as a table: what each means, why it matters and what to do.

``docs/doctor.md`` is written from it. Names are stable: scripts use them.
"""

from __future__ import annotations

from typing import Final

from scheduler_core.base.quick_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of finding.

    Shape: ``name`` the first part of its findings' ids; ``title`` what is wrong, as a heading; ``todo`` what
           a person does; ``fix`` what ``--fix`` does, empty where it does nothing.
    """

    name: str
    title: str
    why: str
    todo: str
    fix: str = ""


RECORD_QUARANTINED: Final = Kind(
    name="record-quarantined",
    title="A claim's record cannot be believed",
    why="its devices stay held, and nothing of the claim is undone until its pod is gone",
    todo="delete the pod; where that does not help, release the claim once no container uses its devices",
    fix="releases the claim, as tangram plugin release does",
)
RECORD_HALF_DONE: Final = Kind(
    name="record-half-done",
    title="A claim has been half prepared or half undone for more than five minutes",
    why="its devices stay held; the pod waits, or its end is not complete",
    todo="read why in the plugin's log; what is on a lost GPU is undone when it is back or the node reboots",
)
RECORD_OF_EARLIER_BOOT: Final = Kind(
    name="record-of-earlier-boot",
    title="A record is of an earlier boot",
    why="none of its devices exists any more; the plugin drops such records at its start: it has not started",
    todo="start the plugin on this node",
)
RECORD_WITHOUT_CLAIM: Final = Kind(
    name="record-without-claim",
    title="A record has a claim that no pod of this node has any more",
    why="its devices stay held on the node although the cluster counts them as free",
    todo="the plugin undoes it after ten minutes; if it does not, read why in its log",
)
CLAIM_HELD_BY_PROGRAMS: Final = Kind(
    name="claim-held-by-programs",
    title="Programs use the GPUs of a claim that is over",
    why="the plugin keeps the claim until they end, so that nobody else gets their GPUs",
    todo="find out whose programs they are, and end them",
)
CLAIM_WITHOUT_RECORD: Final = Kind(
    name="claim-without-record",
    title="A pod runs with devices of this node, and no record says so",
    why="the plugin would give the devices to another claim while the pod uses them",
    todo="delete the pod, so that its devices are prepared again",
)
DOCUMENT_OF_NOBODY: Final = Kind(
    name="document-of-nobody",
    title="A CDI document has no record of a claim",
    why="a container could still be started with devices that belong to nobody",
    todo="the plugin removes it within a minute; if it does not, the plugin does not run",
)
DOCUMENT_MISSING: Final = Kind(
    name="document-missing",
    title="The CDI document of a prepared claim is missing",
    why="no container of the claim's pods can start, or start again",
    todo="the plugin writes it again within a minute; if it does not, the plugin does not run",
)
DOCUMENT_CHANGED: Final = Kind(
    name="document-changed",
    title="The CDI document of a prepared claim is not the one that was written",
    why="containers that start again get other devices or settings than before",
    todo="the plugin writes it again within a minute; find out who changes files of the CDI folder",
)
FOREIGN_INSTANCE: Final = Kind(
    name="foreign-instance",
    title="A MIG instance belongs to no claim",
    why="nobody gets the devices that overlap it",
    todo="whoever made it destroys it; Tangram never does",
)
VFS_LEFT: Final = Kind(
    name="vfs-left",
    title="VFs that were made on demand are left, and no claim has one",
    why="the NIC can neither be given as a whole nor get another number of VFs",
    todo="the plugin removes them within a minute; if it does not, read why in its log",
)
MIG_MODE_LEFT: Final = Kind(
    name="mig-mode-left",
    title="The MIG mode that the plugin turned on is left on, and no claim has a part of the GPU",
    why="programs outside Kubernetes cannot use the GPU whole; a claim for it turns the mode off first",
    todo="end what holds the GPU, then turn the mode off",
)
GPU_NOT_IN_DRIVER: Final = Kind(
    name="gpu-not-in-driver",
    title="PCI shows a GPU that the driver does not list",
    why="nobody gets this GPU",
    todo="see what the finding says: bind it to the driver, or look for Xid errors and reset it",
)
DEVICE_UNREADABLE: Final = Kind(
    name="device-unreadable",
    title="A device cannot be read",
    why="it is not offered, or without what the finding names, or only as it was when it was last read",
    todo="see what the finding says; look for errors of the device in the kernel's log",
)
PLUGIN_NOT_RUNNING: Final = Kind(
    name="plugin-not-running",
    title="No plugin answers on this node",
    why="pods with devices of this node can neither start nor end",
    todo="start the plugin; in a cluster, look why the pod of the DaemonSet does not run",
)
PLUGIN_HANGS: Final = Kind(
    name="plugin-hangs",
    title="The plugin does not answer",
    why="the kubelet's calls wait, so pods with devices can neither start nor end",
    todo="look for a call that hangs in the plugin's status or log, then start the plugin again",
)
PLUGIN_NOT_REGISTERED: Final = Kind(
    name="plugin-not-registered",
    title="The plugin answers, and has no registration socket that answers",
    why="the kubelet does not know the driver, and refuses pods with its devices",
    todo="start the plugin again; find out who removes files below plugins_registry",
)
FOLDER_UNWRITABLE: Final = Kind(
    name="folder-unwritable",
    title="A folder that the plugin writes to is missing or cannot be written",
    why="no claim can be prepared or undone",
    todo="mend the file system, its rights, or the mount",
)
DISK_FULL: Final = Kind(
    name="disk-full",
    title="There is no room where the plugin writes",
    why="no claim can be prepared: its record is written first",
    todo="free space",
)
LOCK_HELD: Final = Kind(
    name="lock-held",
    title="A lock of the plugin has been held all the time that this command looked",
    why="calls for the claim or the device of this lock wait, and are refused in the end",
    todo="look at what the holder does; the plugin's status tells locks and calls that hang",
)

SERVER_TOO_OLD: Final = Kind(
    name="server-too-old",
    title="The API server is too old",
    why="it does not serve resource.k8s.io/v1, so no device is published",
    todo="update Kubernetes to 1.34 or newer",
)
FEATURE_GATE_OFF: Final = Kind(
    name="feature-gate-off",
    title="A feature gate of the API server is off",
    why="devices that need it are withheld, because the server would drop what keeps them apart",
    todo="turn the gate on in the API server, the scheduler, the controller manager and the kubelets",
)
CLAIM_OF_GONE_POD: Final = Kind(
    name="claim-of-gone-pod",
    title="A claim is reserved for a pod that is gone",
    why="its devices stay allocated, and nobody uses them",
    todo="look whether kube-controller-manager runs: it takes such reservations away",
)
CLAIM_FOR_NOBODY: Final = Kind(
    name="claim-for-nobody",
    title="A claim has devices and is reserved for nobody",
    why="its devices stay allocated, and nobody uses them",
    todo="delete the claim, or look whether kube-controller-manager runs: it takes such allocations away",
)
FINALIZER_WITHOUT_OWNER: Final = Kind(
    name="finalizer-without-owner",
    title="An object was deleted, and a finalizer keeps it although nothing is left to wait for",
    why="it never goes, and neither does its namespace",
    todo="look whether the controller that removes the finalizer runs, or remove the finalizer",
    fix="removes this finalizer, if the object is still as it was when it was looked at",
)
SLICES_OF_GONE_NODE: Final = Kind(
    name="slices-of-gone-node",
    title="A node is gone, and its slices are left",
    why="the scheduler looks at devices that do not exist",
    todo="delete the slices",
    fix="deletes the slices of this node and driver",
)
POOL_INCOMPLETE: Final = Kind(
    name="pool-incomplete",
    title="A pool lacks slices of its newest generation",
    why="the scheduler gives no device of an incomplete pool to anybody",
    todo="look at the log of the agent on that node: the API server may refuse a slice",
)
SLICES_OF_OLD_GENERATION: Final = Kind(
    name="slices-of-old-generation",
    title="A pool has slices of an older generation",
    why="they are obsolete; whoever should delete them does not run",
    todo="look at the log of the agent on that node",
)
POD_WAITS_FOR_PREPARE: Final = Kind(
    name="pod-waits-for-prepare",
    title="A pod has a node and devices, and its devices are not prepared",
    why="its containers do not start",
    todo="see the reason that the finding names; the plugin's log on that node says more",
)
TAINT_OLD: Final = Kind(
    name="taint-old",
    title="Devices have had a taint for long",
    why="nobody gets these devices while they have it",
    todo="see what the taint says; it goes when its cause is gone",
)
NODE_WITHOUT_POD: Final = Kind(
    name="node-without-pod",
    title="A node has the label for Tangram, and no pod of the driver",
    why="none of its devices is offered, and none can be prepared",
    todo="look why the DaemonSet has no pod there: its node selection, its tolerations, room on the node",
)
POD_NOT_READY: Final = Kind(
    name="pod-not-ready",
    title="The agent or the plugin on a node is not ready",
    why="devices of the node are not kept up to date, or pods with devices cannot start there",
    todo="read its log",
)
NODE_WITHOUT_SLICES: Final = Kind(
    name="node-without-slices",
    title="The driver runs on a node, and the node has no slices",
    why="none of its devices is offered",
    todo="read the agent's log: it finds no device, or cannot write",
)
DEVICE_CLASS_MISSING: Final = Kind(
    name="device-class-missing",
    title="No DeviceClass selects a type of device that nodes offer",
    why="no claim can ask for these devices",
    todo="apply the device classes of the installation",
)
POLICY_MISSING: Final = Kind(
    name="policy-missing",
    title="An admission policy is missing",
    why="who takes over one node, or one tenant, can harm the others",
    todo="apply the policies of the installation",
)
POLICY_WITHOUT_EFFECT: Final = Kind(
    name="policy-without-effect",
    title="An admission policy is there, and applies to nobody",
    why="it protects as little as a policy that is missing",
    todo="apply the policies of the installation again; a renamed service account is renamed there too",
)
TWO_DAEMON_SETS: Final = Kind(
    name="two-daemon-sets",
    title="Two DaemonSets run the same driver on one node",
    why="both write the same slices, and the kubelet calls whichever registered last",
    todo="delete one of them, or give its driver another name",
)

NODE_KINDS: Final = (
    RECORD_QUARANTINED,
    RECORD_HALF_DONE,
    RECORD_OF_EARLIER_BOOT,
    RECORD_WITHOUT_CLAIM,
    CLAIM_HELD_BY_PROGRAMS,
    CLAIM_WITHOUT_RECORD,
    DOCUMENT_OF_NOBODY,
    DOCUMENT_MISSING,
    DOCUMENT_CHANGED,
    FOREIGN_INSTANCE,
    VFS_LEFT,
    MIG_MODE_LEFT,
    GPU_NOT_IN_DRIVER,
    DEVICE_UNREADABLE,
    PLUGIN_NOT_RUNNING,
    PLUGIN_HANGS,
    PLUGIN_NOT_REGISTERED,
    FOLDER_UNWRITABLE,
    DISK_FULL,
    LOCK_HELD,
)
CLUSTER_KINDS: Final = (
    SERVER_TOO_OLD,
    FEATURE_GATE_OFF,
    CLAIM_OF_GONE_POD,
    CLAIM_FOR_NOBODY,
    FINALIZER_WITHOUT_OWNER,
    SLICES_OF_GONE_NODE,
    POOL_INCOMPLETE,
    SLICES_OF_OLD_GENERATION,
    POD_WAITS_FOR_PREPARE,
    TAINT_OLD,
    NODE_WITHOUT_POD,
    POD_NOT_READY,
    NODE_WITHOUT_SLICES,
    DEVICE_CLASS_MISSING,
    POLICY_MISSING,
    POLICY_WITHOUT_EFFECT,
    TWO_DAEMON_SETS,
)
