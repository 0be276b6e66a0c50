"""The options that say what a node offers, as agent, plugin and commands take them alike.

Only their names and helps are here. What they mean is read beside what it is about, which a command that
describes no node does not load.
"""

from __future__ import annotations

from argparse import ArgumentParser
from pathlib import Path
from typing import Final

GPU_MODES: Final = "--gpu-modes"
COMPUTE_INSTANCES: Final = "--compute-instances"
IMEX_CHANNELS: Final = "--imex-channels"
VFS: Final = "--vfs"
MULTUS_RESOURCE: Final = "--multus-resource"
POLICY: Final = "--policy"
SHIPPED_BOARDS: Final = ("hgx-h100", "hgx-h20", "hgx-h200", "hgx-h800")
"""The boards whose tables of partitions are shipped."""


def add_gpu_modes(parser: ArgumentParser) -> None:
    """Add the option. Agent and plugin of a node need equal values, since they name the same devices."""
    parser.add_argument(
        GPU_MODES,
        metavar="GPUS=MODES",
        action="append",
        help="in which modes GPUs are offered: all or numbers, and modes of whole, mig, shared, mps, such as "
        "0,2-5=whole,mig,shared:50%%,mps:50%%; with mig, MIG mode is set for the first partition and unset "
        "after the last; mig:on, which stands alone, sets it once, and it stays; may be given several times; "
        "default: all=whole,mig; "
        "agent and plugin of a node need the same values",
    )


def add_compute_instances(parser: ArgumentParser) -> None:
    """Add the option. Agent and plugin of a node need equal values, since they name the same devices."""
    parser.add_argument(
        COMPUTE_INSTANCES,
        metavar="NUMBERS",
        help="GPUs whose GPU instances are also offered in parts (1c.3g.20gb), to several claims: all, or "
        "numbers such as 0,2-5; default: none; agent and plugin of a node need the same value",
    )


def add_imex_channels(parser: ArgumentParser) -> None:
    """Add the option. Agent and plugin of a node need equal values, since they name the same devices."""
    parser.add_argument(
        IMEX_CHANNELS,
        type=int,
        default=0,
        metavar="COUNT",
        help="offer the driver's first COUNT IMEX channels as devices; default: none; "
        "agent and plugin of a node need the same value",
    )


def add_vfs(parser: ArgumentParser) -> None:
    """Add the option. Agent and plugin of a node need equal values, since they name the same devices."""
    parser.add_argument(
        VFS,
        metavar="NIC=RULE,...",
        help="number of VFs by NIC (a PCI address, an interface or all): static:8 has the plugin make 8, "
        "on-demand:8 offers 8 and has the plugin make them for the first claim and remove them after the "
        "last, keep changes nothing; with @12500/100000 behind it each VF is offered with a bandwidth of "
        "12500 Mbit/s of 100000, which the plugin sets as its maximum rate; default: nobody makes any; agent "
        "and plugin of a node need the same value",
    )


def add_multus_resource(parser: ArgumentParser) -> None:
    """Add the option. The plugin has none: what it prepares does not depend on it."""
    parser.add_argument(
        MULTUS_RESOURCE,
        metavar="DOMAIN/NAME",
        help="publish VFs with the attributes by which Multus finds them, under this resource name; "
        "default: without them",
    )


def add_policy(parser: ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        POLICY,
        type=Path,
        metavar="FILE",
        help="the policy of the fleet's nodes (docs/policy.md), which replaces the options about GPUs, NICs, "
        "partitions and channels; a change of the file is followed, on each device when no claim has it; "
        "agent and plugin of a node need the same file; default: the options alone",
    )
