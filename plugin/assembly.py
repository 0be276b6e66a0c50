"""Builds a driver from its parts; only this module knows all of them.

Takes a machine, options and the process's clock and sleep; returns a driver. Nothing is opened or read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from agent.hardware.ports import Machine
from agent.health.rules import HealthRules
from agent.health.state_file import StateFile
from agent.inventory.numbers import in_slices
from agent.inventory.numbers.kept import KeptNumbers
from agent.inventory.numbers.number_file import NumberFile
from agent.inventory.numbers.numbering import Numbering, Witness
from agent.policy.watched import WatchedPolicy
from plugin.base.budget import Budgets
from plugin.base.in_flight import CallsInFlight
from plugin.base.locks import Locks
from plugin.base.metrics import Metrics
from plugin.cdi.folder import CdiFolder
from plugin.cdi.hook import HookProgram
from plugin.cdi.metadata_folder import MetadataFolder
from plugin.claim.driver import Driver
from plugin.claim.record_store import RecordStore
from plugin.claim.steps import ClaimSteps
from plugin.kinds.numbers import witnesses_in
from plugin.kinds.setup import DeviceSetup
from plugin.machine.known_health import KnownHealth
from plugin.machine.libraries import RememberedFiles
from plugin.machine.made_vfs import MadeVfStore
from plugin.machine.mig.made import MadeModes
from plugin.machine.node import Node
from plugin.machine.waiting import Waiting
from plugin.machine.watched import watched
from plugin.options import Options

Published = Callable[[], Iterable[Mapping[str, Any]]]


def assemble(
    machine: Machine,
    options: Options,
    *,
    clock: Callable[[], float],
    sleep: Callable[[float], None],
    calls: CallsInFlight | None = None,
    published: Published = tuple,
    metrics: Metrics | None = None,
) -> Driver:
    """Return the driver of a machine.

    Shape: ``calls`` notes the calls into hardware that have not returned; ``published`` returns the slices of
           the node at the API server; it is asked only where the numbers of the GPUs are lost, and may raise
           NumbersUnknown; ``metrics`` where everything is counted.
    Units: ``clock`` and ``sleep`` use seconds.
    """
    calls, wait_s, metrics = calls or CallsInFlight(clock), options.call_wait_s, metrics or Metrics()
    machine = watched(replace(machine, files=RememberedFiles(machine.files)), calls)
    waiting = Waiting(most_s=options.device_wait_s, clock=clock, sleep=sleep)
    steps = _steps(machine, options, waiting, _numbering(options, published), metrics)
    driver = Driver(
        name=options.driver_name,
        steps=steps,
        locks=Locks(path=options.lock_file, wait_s=wait_s, clock=clock, sleep=sleep, calls=calls),
        budgets=Budgets(wait_s=wait_s, holder_wait_s=options.holder_wait_s, clock=clock, sleep=sleep),
        effect_file=options.effect_file,
        policy=None if options.policy is None else WatchedPolicy(options.policy, options.replaced),
        metrics=metrics,
        known_health=KnownHealth(
            StateFile(options.health_dir, options.node_name), machine.gpus, lambda: _health_rules(steps.node)
        ),
    )
    driver.policy.load()
    return driver


def _health_rules(node: Node) -> HealthRules:
    """Return the rules of the policy that is in effect, else the table's."""
    effect = node.effect
    return HealthRules() if effect is None or effect.health is None else effect.health


def _numbering(options: Options, published: Published) -> KeptNumbers:
    """Return who numbers the GPUs, as the agent does; where no file says it, as records and slices do."""
    store = RecordStore(options.claims_dir, CdiFolder(options.cdi_dir, options.driver_name))

    def witnesses() -> Iterator[Witness]:
        records = store.census().records
        yield from witnesses_in((device for one in records for device in one.devices), options.node_name)
        yield from in_slices.witnesses_in(published(), options.driver_name)

    return KeptNumbers(NumberFile(options.gpu_numbers_dir, options.node_name), witnesses)


def _steps(
    machine: Machine, options: Options, waiting: Waiting, numbering: Numbering, metrics: Metrics
) -> ClaimSteps:
    driver = options.driver_name
    cdi = CdiFolder(options.cdi_dir, driver)
    return ClaimSteps(
        machine=machine,
        node=Node(
            machine.readers,
            options.node_name,
            driver,
            options.settings,
            numbering=numbering,
        ),
        store=RecordStore(options.claims_dir, cdi),
        cdi=cdi,
        metadata=MetadataFolder(
            options.metadata_dir, options.cdi_dir, driver, is_wanted=options.has_metadata
        ),
        hook=HookProgram(options.hook_dir),
        cache_program=options.cdi_hook,
        setup=DeviceSetup(),
        host_root=options.host_root,
        waiting=waiting,
        made_vfs=MadeVfStore(options.made_vfs_dir),
        made_modes=MadeModes(options.mig_modes_dir),
        metrics=metrics,
    )
