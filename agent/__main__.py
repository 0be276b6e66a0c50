"""The agent as a program: options to adapters, then publish until a signal comes.

Exit status: 0 after a signal, 1 where it cannot start, 2 for wrong options (one message on standard
error, nothing made). The only place of the agent that names adapters.
"""

from __future__ import annotations

import logging
import random
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import agent.early_end  # noqa: F401 - first, since what follows takes long
from agent.hardware.driver_root import DriverRoot
from agent.hardware.errors import HardwareError
from agent.hardware.late import LateGpus
from agent.hardware.nvml import Nvml
from agent.hardware.ports import Readers
from agent.hardware.procfs import ProcBoot
from agent.hardware.simulated import SimulatedMachine, SimulationError, load_node
from agent.hardware.simulated.news import StateNews
from agent.hardware.sysfs import Sysfs
from agent.hardware.uevents import Uevents
from agent.inventory import discover
from agent.inventory.describer import Describer
from agent.inventory.model import LinkedGpus
from agent.inventory.table_files import BadTable, read_table
from agent.options import InvalidOptions, Options, read_options
from agent.publishing import errors
from agent.publishing.documents import Document, name_of
from agent.publishing.forms import Found
from agent.publishing.loop import Agent
from agent.publishing.metrics import Metrics
from agent.publishing.ports import Heard, Interrupted, News, WatchMessage
from agent.publishing.publication import Clocks, Owner, Publication
from agent.publishing.sources import CompositeSource, V1Source
from kube_api import (
    NODES,
    RESOURCE_SLICES,
    AlreadyExists,
    Changed,
    Conflict,
    Disconnected,
    EventType,
    EventWriter,
    Forbidden,
    Invalid,
    KubeApi,
    KubeApiError,
    NotFound,
    Regarding,
    Resource,
    Store,
    Unavailable,
    Unreadable,
)
from scheduler_core.codec import composite

_log = logging.getLogger("agent")
_DONE: Final = 0
_FAILED: Final = 1
_WRONG_OPTIONS: Final = 2
_COMPOSITES: Final = Resource.of(composite.API_VERSION, composite.KIND, "compositeresourceslices")
_Answer = TypeVar("_Answer")


def main(argv: Sequence[str] | None = None) -> int:
    """Publish until SIGTERM or SIGINT and return the exit status."""
    try:
        options = read_options(argv)
    except SystemExit as end:  # argparse has printed help, or what is wrong
        return int(end.code or _DONE)
    except InvalidOptions as error:
        return _refused(error, _WRONG_OPTIONS)
    logging.basicConfig(
        stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s"
    )
    try:
        linked = read_table(options.partitions, options.partition_policy)
        with ExitStack() as opened:
            _run(options, linked, opened)
    except (BadTable, SimulationError) as error:
        return _refused(error, _WRONG_OPTIONS)
    except (HardwareError, KubeApiError, OSError) as error:
        return _refused(error, _FAILED)
    return _DONE


def _run(options: Options, linked: LinkedGpus | None, opened: ExitStack) -> None:
    readers, news = opened.enter_context(_machine(options))
    api = KubeApi.connect(
        options.kubeconfig,
        options.context,
        user_agent="tangram-agent",
        clock=time.monotonic,
        sleep=time.sleep,
        random=random.random,
    )
    opened.callback(api.close)
    metrics, clocks = Metrics(), Clocks(time.monotonic, time.time, random.random)
    agent = Agent(
        look=_look(readers, options, linked),
        publications=_publications(options, api, metrics, clocks, opened),
        news=(news,),
        metrics=metrics,
        clocks=clocks,
        resync_s=options.resync_s,
    )
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stop())
    _serve(options, metrics, agent, opened)
    agent.run()


def _serve(options: Options, metrics: Metrics, agent: Agent, opened: ExitStack) -> None:
    if options.metrics is None and options.probe_socket is None:
        return
    from agent.publishing import serving  # noqa: PLC0415 - who asks for nothing loads no server

    answers = serving.answers_of(metrics, agent.idle_s, lambda: agent.is_ready)
    if options.metrics is not None:
        opened.enter_context(serving.serving((options.metrics.host, options.metrics.port), answers))
    if options.probe_socket is not None:
        opened.enter_context(serving.serving_probes(options.probe_socket, answers))


def _publications(
    options: Options, api: KubeApi, metrics: Metrics, clocks: Clocks, opened: ExitStack
) -> list[Publication]:
    owner = Owner(NodeObjects(api), options.node_name)
    notices = NodeEvents(api, options.node_name)
    opened.callback(notices.close)
    of_driver = f"spec.driver={options.driver_name}"
    shelf = ApiShelf(api, RESOURCE_SLICES, f"{of_driver},spec.nodeName={options.node_name}")
    found = [Publication(shelf, V1Source(metrics, notices), owner, metrics, clocks)]
    if options.composite:
        # A slice whose devices have nodes of their own names none: the pool, called like the node, does.
        shelf = ApiShelf(api, _COMPOSITES, f"{of_driver},spec.pool.name={options.node_name}")
        found.append(Publication(shelf, CompositeSource(), owner, metrics, clocks))
    return found


def _look(readers: Readers, options: Options, linked: LinkedGpus | None) -> Callable[[], Found]:
    describer = Describer(options.driver_name)

    def look() -> Found:
        inventory = replace(discover(readers, options.node_name), linked=linked)
        return Found.of(inventory, describer.devices(inventory))

    return look


@contextmanager
def _machine(options: Options) -> Iterator[tuple[Readers, News]]:
    if options.simulated is not None and options.machine is not None:
        simulated = SimulatedMachine.open(load_node(options.simulated), options.machine)
        root = simulated.root
        yield (
            Readers(simulated.gpus, Sysfs(root), ProcBoot(root)),
            StateNews(options.machine),
        )
        return
    files = DriverRoot.installed(options.driver_root, options.host_root)
    is_elsewhere = files.root != Path("/")
    gpus = LateGpus(lambda: Nvml.open(files.management_library() if is_elsewhere else None))
    news = Uevents(options.host_root / "run/udev/control")
    try:
        yield Readers(gpus, Sysfs(options.host_root), ProcBoot()), news
    finally:
        gpus.close()


def _refused(error: Exception, status: int) -> int:
    sys.stderr.write(f"tangram agent: {' '.join(str(error).split())}\n")
    return status


def _translated(error: KubeApiError) -> errors.ServerError:
    """Return what an answer of the API server means for publishing."""
    match error:
        case NotFound():
            return errors.NotThere(str(error))
        case Conflict() | AlreadyExists():
            return errors.Outdated(str(error))
        case Forbidden():
            return errors.NotAllowed(str(error))
        case Invalid():
            return errors.Refused(str(error))
        case Unavailable(retry_after_s=retry_after_s):
            return errors.Unreachable(str(error), retry_after_s)
        case _:
            return errors.ServerError(str(error))


def _asked(call: Callable[[], _Answer]) -> _Answer:
    try:
        return call()
    except KubeApiError as error:
        raise _translated(error) from error


class ApiShelf:
    """One kind of objects at the API server, as far as a field selector shows them."""

    def __init__(self, api: KubeApi, resource: Resource, fields: str) -> None:
        self._api = api
        self._resource = resource
        self._fields = fields
        self._store: Store[Document] = Store(lambda found: found.document)

    @property
    def kind(self) -> str:
        """Return the kind, as messages name it."""
        return self._resource.kind

    @property
    def is_listed(self) -> bool:
        """Whether all objects were listed once."""
        return self._store.is_synced

    def documents(self) -> tuple[Document, ...]:
        """Return the objects as far as they are known, by name."""
        return tuple(sorted(self._store.values(), key=name_of))

    def create(self, document: Document, *, dry_run: bool = False) -> Document:
        """Create an object and return what the server keeps of it."""
        stored = _asked(lambda: self._api.create(self._resource, document, dry_run=dry_run))
        if not dry_run:
            self._store.wrote(stored)
        return stored.document

    def replace(self, document: Document) -> Document:
        """Replace an object in the version that the document names."""
        stored = _asked(lambda: self._api.replace(self._resource, document))
        self._store.wrote(stored)
        return stored.document

    def delete(self, name: str, uid: str, resource_version: str) -> None:
        """Delete an object in this version."""
        try:
            left = _asked(
                lambda: self._api.delete(self._resource, name, uid=uid, resource_version=resource_version)
            )
        except errors.NotThere:
            self._store.deleted(uid)
            raise
        if left is None:
            self._store.deleted(uid)
        else:
            self._store.wrote(left)

    def changes(self, stop: threading.Event) -> Iterator[WatchMessage]:
        """Keep the documents up to date until ``stop`` is set; yield a message for each event."""
        for told in self._api.follow(self._resource, self._store, field_selector=self._fields, stop=stop):
            match told:
                case Changed(changes=changes, is_first=is_first):
                    yield Heard(is_first or bool(changes))
                case Unreadable():
                    _log.warning("%s %s", self.kind, told)
                    yield Heard(is_new=False)
                case Disconnected(error=error, retry_in_s=retry_in_s):
                    if isinstance(error, NotFound | Forbidden | Invalid):
                        raise _translated(error) from error  # waiting does not mend these
                    yield Interrupted(str(error), retry_in_s)


class NodeObjects:
    """The Node objects at the API server."""

    def __init__(self, api: KubeApi) -> None:
        self._api = api

    def uid(self, name: str) -> str:
        """Return the UID of a node."""
        return _asked(lambda: self._api.get(NODES, name)).metadata.uid


class NodeEvents:
    """Events about a Node object."""

    def __init__(self, api: KubeApi, node: str) -> None:
        # Node events carry the node's name as UID: kubectl describe looks for that (kubelet does the same).
        self._node = Regarding(api_version="v1", kind="Node", name=node, uid=node)
        self._writer = EventWriter(api, "tangram.dev/agent", time.time, node)

    def warn(self, reason: str, text: str) -> None:
        """Say that something is wrong."""
        self._emit("Warning", reason, text)

    def note(self, reason: str, text: str) -> None:
        """Say that something has changed for the better."""
        self._emit("Normal", reason, text)

    def close(self) -> None:
        """Write what waits."""
        self._writer.close()

    def _emit(self, kind: EventType, reason: str, text: str) -> None:
        self._writer.emit(self._node, kind, reason, text, "Publish")


if __name__ == "__main__":
    sys.exit(main())
