"""A node for the page about troubles: a simulated machine with a plugin, on which something went wrong.

The commands of the page are those of a real node; programs in front of them add the places of the simulated
one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from damaged_files import flip, places
from gpu_programs import CLIENT, programs, said
from node_site import NodeSite

from agent.hardware.simulated import parse_fault
from agent.hardware.types import MigSpec, Placement
from pages.sessions import Shell
from pages.worlds.cluster import listed
from plugin.base.errors import PluginError

_PLUGIN = """
while [ "$1" != "--" ]; do shift; done
shift 5
set -- $(printf '%s\\n' "$@" | sed '/^--host-root$/d; /^.host$/d')
"""


@contextmanager
def with_claim(shell: Shell) -> Iterator[NodeSite]:
    """A node on which the claim ``u1`` has half of a GPU, and the commands that look at it."""
    site = NodeSite(shell.folder / "node", "a100x2")
    with site.served():
        site.prepare("u1", "gpu-0-mig-3g-20gb-4-7")
        _put_programs(shell, site)
        yield site


def _put_programs(shell: Shell, site: NodeSite) -> None:
    own = " ".join(site.arguments)
    real = Path(sys.executable).parent / "tangram"
    usual = f"sed 's#{own} ##; s#{site.options.kubelet_dir}#/var/lib/kubelet#'"
    shell.put("sudo", 'exec "$@"')
    shell.put(
        "tangram",
        'case "$1" in doctor) shift; '
        '[ "$1" != --kubeconfig ] || { shift 2; set -- --kubeconfig "$KUBECONFIG" "$@"; }; '
        f'{real} doctor {own} "$@" | {usual};; '
        f'show) exec {real} show --machine {site.folder}/machine;; *) exec {real} "$@";; esac',
    )
    shell.put("kubectl", f'{_PLUGIN}exec {sys.executable} -P -m plugin "$@" {own}')


def _world(plant: Callable[[NodeSite], None]) -> Callable[[Shell], object]:
    @contextmanager
    def made(shell: Shell) -> Iterator[None]:
        with with_claim(shell) as site:
            plant(site)
            yield

    return made


def _damage(site: NodeSite) -> None:
    data = site.record("u1").read_bytes()
    site.record("u1").write_bytes(flip(data, places(data)[-2]))


def _leave_an_instance(site: NodeSite) -> None:
    gpus, uuid = site.simulated.gpus, site.simulated.node.cards[0].uuid
    profile = next(one for one in gpus.profiles(uuid) if one.name == "1g.5gb")
    gpus.create_gpu_instance(MigSpec(uuid, profile.profile_id, Placement(0, 1)))


damaged_record = _world(_damage)
instance_left = _world(_leave_an_instance)
rebooted = _world(lambda site: site.simulated.reboot() and None)
lost_gpu = _world(lambda site: site.simulated.inject(parse_fault("gpu-1:lost")))


@contextmanager
def busy_gpu(shell: Shell) -> Iterator[None]:
    """A monitor holds the GPU whose MIG mode a claim needs changed; kubectl prints what the claim is told."""
    with with_claim(shell) as site, programs() as started:
        monitor = started(CLIENT, site.simulated.directory, 1, "nv-hostengine")
        said(monitor)
        try:
            site.prepare("u2", "gpu-1-mig-3g-20gb-4-7")
        except PluginError as error:
            (shell.folder / "told").write_text(f"{error}\n", encoding="utf-8")
        shell.put("kubectl", f"cat {shell.folder}/told")
        yield


@contextmanager
def program_left(shell: Shell) -> Iterator[None]:
    """A claim is over, since the API server does not know it, and its program computes on."""
    with with_claim(shell) as site, programs() as started, listed(shell, {}):
        site.unprepare("u1")
        site.prepare("u2", "gpu-1")
        said(started(CLIENT, site.simulated.directory, 1, "train"))
        yield
