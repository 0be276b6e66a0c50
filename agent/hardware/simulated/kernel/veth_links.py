"""Real network devices for the interfaces of simulated NICs, so that pods can use them.

A pair of veth devices stands for the interface of each function of a NIC whose node file says
``kernel_links``: one end is the interface, the other one a port of a bridge, which stands for the NIC's
switch. The kernel moves and changes the first end. A veth device ends with its namespace and a function's
interface does not; so it is made again on the host then, down and under the name that it had in the pod, as
kernels give interfaces back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from msgspec.structs import replace

from agent.hardware.nics.kernel import NetworkKernel
from agent.hardware.nics.links import Link, Move, Step
from agent.hardware.nics.types import VfSettings
from agent.hardware.simulated.faults import Call
from agent.hardware.simulated.kernel.simulated_kernel import SimulatedKernel
from agent.hardware.simulated.nic_state import IN_KERNEL, LinkState
from agent.hardware.simulated.nics.functions import Function, functions, with_function
from agent.hardware.simulated.state import State
from agent.hardware.types import Bdf

_PORT: Final = "tgport"


class HostKernel(NetworkKernel, Protocol):
    """The real kernel, which can also make devices on the host."""

    def on_host(self, call: Callable[[Any], None]) -> None:
        """Call with a netlink socket of the host's namespace. Raises: OSError."""
        ...


@dataclass(frozen=True, slots=True)
class VethKernel:
    """The ``NetworkKernel`` of a machine of which some NICs have real links.

    Shape: ``real`` finds the owner of a link by its alias, as ``owner_by_alias`` does.
    """

    simulated: SimulatedKernel
    real: HostKernel

    def links(self, namespace: Path | None) -> tuple[Link, ...]:
        """Return the links of a namespace. Raises: OSError."""
        if namespace is None:
            self._give_back()
        ours = {function.bdf for function in self._functions(self._state())}
        pretended = self._pretended(namespace)
        return (*self.real.links(namespace), *(link for link in pretended if link.bdf not in ours))

    def apply(self, namespace: Path | None, step: Step) -> None:
        """Change one link of a namespace. Raises: OSError."""
        function = self._owner(namespace, step.link)
        if function is None:
            self.simulated.apply(namespace, step)
            return
        with self.simulated.calls.of_nic(Call.CHANGE_LINK, function.nic.number):
            self.real.apply(namespace, step)
        target = step.into if isinstance(step, Move) else namespace
        found = next((one for one in self.real.links(target) if one.bdf == function.bdf), None)
        if found is not None:
            place = None if target is None else IN_KERNEL
            self._keep(function, LinkState(found.name, found.mac, found.mtu, found.is_up, place))

    def vf_settings(self, pf: str) -> Mapping[int, VfSettings]:
        """Return the settings of all VFs of a PF. Raises: OSError."""
        return self.simulated.vf_settings(pf)

    def set_vf(self, pf: str, index: int, settings: VfSettings) -> None:
        """Change the given settings of one VF. Raises: OSError."""
        self.simulated.set_vf(pf, index, settings)

    def _state(self) -> State:
        return self.simulated.calls.store.read()

    def _functions(self, state: State) -> Iterator[Function]:
        every = functions(self.simulated.calls.store.node, state)
        return (function for function in every if function.nic.form.kernel_links)

    def _pretended(self, namespace: Path | None) -> tuple[Link, ...]:
        with suppress(FileNotFoundError):  # a namespace that only the real kernel knows has none
            return self.simulated.links(namespace)
        return ()

    def _owner(self, namespace: Path | None, name: str) -> Function | None:
        owner = next((one.bdf for one in self.links(namespace) if one.name == name), None)
        return next((one for one in self._functions(self._state()) if one.bdf == owner), None)

    def _keep(self, function: Function, link: LinkState) -> None:
        def decide(state: State) -> tuple[State, None]:
            return with_function(state, function, replace(function.of(state), link=link)), None

        self.simulated.calls.store.change(decide)

    def _give_back(self) -> None:
        """Make the devices that are missing: at first, and after their namespaces have ended.

        Those of functions that are gone, or that lost their driver, go.
        """
        state = self._state()
        names = {link.name for link in self.real.links(None)}
        wanted = {function: link for function in self._functions(state) if (link := function.link(state))}
        ports = {_port(function) for function in wanted}
        for stray in sorted(name for name in names - ports if name.startswith(_PORT)):
            self.real.on_host(_removing(stray))
        for function, link in wanted.items():
            if _port(function) not in names:
                name = link.name if link.name not in names else f"dev{function.link_index}"
                made = LinkState(name, link.mac, link.mtu, up=link.up and link.namespace is None)
                self._make(function, made)
                self._keep(function, made)
                names.add(name)

    def _make(self, function: Function, link: LinkState) -> None:
        bridge = f"tgsw{function.nic.number}"
        with suppress(FileExistsError):
            self.real.on_host(_making_bridge(bridge))
        with suppress(FileExistsError):  # another process of this machine was quicker
            self.real.on_host(_making(function.bdf, link, _port(function), bridge))


def owner_by_alias(message: Any) -> Bdf | None:
    """Return the function that a link stands for: a veth device has no parent, so its alias says it."""
    alias = message.get_attr("IFLA_IFALIAS")
    return Bdf(alias) if alias else None


def _port(function: Function) -> str:
    return f"{_PORT}{function.link_index}"


def _making_bridge(name: str) -> Callable[[Any], None]:
    def make(netlink: Any) -> None:
        netlink.link("add", ifname=name, kind="bridge")
        netlink.link("set", index=_index(netlink, name), state="up")

    return make


def _making(bdf: Bdf, link: LinkState, port: str, bridge: str) -> Callable[[Any], None]:
    def make(netlink: Any) -> None:
        peer = {"ifname": port}
        netlink.link("add", ifname=link.name, kind="veth", address=link.mac, mtu=link.mtu, peer=peer)
        netlink.link("set", index=_index(netlink, port), master=_index(netlink, bridge), state="up")
        state = "up" if link.up else "down"
        netlink.link("set", index=_index(netlink, link.name), ifalias=bdf, state=state)

    return make


def _removing(name: str) -> Callable[[Any], None]:
    def remove(netlink: Any) -> None:
        netlink.link("del", index=_index(netlink, name))

    return remove


def _index(netlink: Any, name: str) -> int:
    (message,) = netlink.link("get", ifname=name)
    return int(message["index"])
