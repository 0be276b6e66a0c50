"""The kernel's rules for the number of VFs and the drivers of functions.

Pure: takes a state and what is written to a file of sysfs; returns the next state, or ``Refused`` with the
number that the kernel would answer. Source: Linux, drivers/pci/iov.c, drivers/base/bus.c and dd.c.
"""

from __future__ import annotations

import errno
import re
from typing import Final

from msgspec.structs import replace

from agent.hardware.simulated.devices import Nic
from agent.hardware.simulated.faults import Call, NicTrouble
from agent.hardware.simulated.nic_state import KERNEL_DRIVER
from agent.hardware.simulated.nics.functions import (
    VFIO,
    Function,
    find,
    functions,
    probed,
    with_function,
    with_vfs,
)
from agent.hardware.simulated.nics.refused import Refused
from agent.hardware.simulated.node import NodeFile
from agent.hardware.simulated.state import State
from agent.hardware.simulated.strikes import trouble

_FILE: Final = re.compile(
    r"sys/bus/pci/(?:devices/(?P<bdf>[^/]+)/(?P<own>sriov_numvfs|sriov_drivers_autoprobe|driver_override)"
    r"|drivers/(?P<driver>[^/]+)/(?P<act>bind|unbind)|(?P<probe>drivers_probe))"
)
_MOST_U16: Final = 2**16 - 1
_CALLS: Final = {
    "sriov_numvfs": Call.SET_VFS,
    "sriov_drivers_autoprobe": Call.OVERRIDE,
    "driver_override": Call.OVERRIDE,
    "bind": Call.PROBE,
    "unbind": Call.UNBIND,
}


def call_of(node: NodeFile, state: State, attribute: str, text: str) -> tuple[Call, Function]:
    """Return which call a write is, and on which function. Raises: Refused as an open of the file does."""
    match = _FILE.fullmatch(attribute)
    if match is None:
        raise Refused(errno.EACCES)
    function = find(node, state, match["bdf"] or text.strip())
    if function is None:
        raise Refused(errno.ENOENT if match["bdf"] else errno.ENODEV)
    if match["driver"] and match["driver"] not in drivers(node, state):
        raise Refused(errno.ENOENT)
    if match["own"] and match["own"].startswith("sriov") and not _has_sriov(function):
        raise Refused(errno.ENOENT)
    return _CALLS.get(match["own"] or match["act"], Call.PROBE), function


def written(node: NodeFile, state: State, attribute: str, text: str) -> State:
    """Return the state after a write. Raises: Refused."""
    _, function = call_of(node, state, attribute, text)
    match = _FILE.fullmatch(attribute)
    assert match is not None, "call_of refuses other files"
    match match["own"] or match["act"] or match["probe"]:
        case "sriov_numvfs":
            return _set_vfs(state, function, _number(text))
        case "sriov_drivers_autoprobe":
            others = tuple(bdf for bdf in state.quiet if bdf != function.bdf)
            return replace(state, quiet=others if _number(text) else (*others, function.bdf))
        case "driver_override":
            changed = replace(function.of(state), override=text.strip() or None)
            return with_function(state, function, changed)
        case "unbind":
            return _unbind(state, function, match["driver"])
        case "bind":
            return _bind(state, function, match["driver"])
        case _:
            wanted = function.of(state).override or function.nic.model.driver
            return state if function.of(state).driver else _probe(state, function, wanted)


def drivers(node: NodeFile, state: State) -> tuple[str, ...]:
    """Return the names of the NIC drivers that the kernel has loaded."""
    own = dict.fromkeys((KERNEL_DRIVER, *(nic.model.driver for nic in node.nics)))
    return (*own,) if trouble(state, None, NicTrouble.NO_VFIO) else (*own, VFIO)


def holders(node: NodeFile, state: State, driver: str) -> tuple[Function, ...]:
    """Return the functions that are bound to a driver."""
    return tuple(each for each in functions(node, state) if each.of(state).driver == driver)


def _has_sriov(function: Function) -> bool:
    return function.index is None and function.nic.form.total_vfs > 0


def _number(text: str) -> int:
    if not text.strip().isdigit():
        raise Refused(errno.EINVAL)
    if int(text) > _MOST_U16:
        raise Refused(errno.ERANGE)
    return int(text)


def _set_vfs(state: State, function: Function, count: int) -> State:
    nic, present = function.nic, state.vfs[function.bdf]
    if count > nic.form.total_vfs:
        raise Refused(errno.ERANGE)
    if count == present:
        return state
    if function.of(state).driver != nic.model.driver:
        raise Refused(errno.ENOENT)
    if count and present:
        raise Refused(errno.EBUSY)
    return with_vfs(state, nic, made(state, nic, count))


def made(state: State, nic: Nic, count: int) -> int:
    """Return how many VFs the driver makes of those asked for; it says so in the kernel's log only."""
    fault = trouble(state, nic.number, NicTrouble.FEWER_VFS)
    return count if fault is None else min(count, fault.count or 0)


def _unbind(state: State, function: Function, driver: str) -> State:
    if function.of(state).driver != driver:
        raise Refused(errno.ENODEV)
    if trouble(state, function.nic.number, NicTrouble.IN_USE):
        raise Refused(errno.EBUSY)
    if function.index is None:
        state = with_vfs(state, function.nic, 0)
    return with_function(state, function, probed(state, function, function.of(state), None))


def _bind(state: State, function: Function, driver: str) -> State:
    if function.of(state).driver:
        raise Refused(errno.EBUSY)
    if driver != (function.of(state).override or function.nic.model.driver):
        raise Refused(errno.ENODEV)
    return _probe(state, function, driver)


def _probe(state: State, function: Function, driver: str) -> State:
    """Let a driver take a function; one that fails leaves it alone, and the write succeeds all the same."""
    if driver == VFIO:
        fits = function.group(state) is not None and not trouble(state, None, NicTrouble.NO_VFIO)
    else:
        fits = driver == function.nic.model.driver
    if not fits:
        return state
    return with_function(state, function, probed(state, function, function.of(state), driver))
