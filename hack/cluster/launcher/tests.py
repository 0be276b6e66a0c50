"""Run the tests in clusters of their own, side by side: most of the time they wait for each other's programs.

In goes which versions and what pytest is told; out comes an exit status. With a kubeconfig of the user's
they run against that cluster instead, and those that need control over its nodes say why they do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from launcher import newcomer
from launcher.build import CHECKOUT
from launcher.errors import LauncherError
from launcher.second_try import Outcome, empty, failed_tests, is_tried_again, summary

_FOLDERS = ("tests/cluster", "tests/kube_api")
# What of the tests a version can run: 1.34 is there for its layout of slices and has no node.
MARKERS: Mapping[str, str] = {"1.37": "cluster", "1.36": "cluster", "1.34": "layout"}
USUAL_VERSIONS = ("1.37", "1.34")
_AT_ONCE = 3  # clusters
_CACHES = CHECKOUT / ".pytest_cache" / "clusters"
# About a third each of the time that all take on a version with nodes; what is in neither is the last third.
_OF_THE_AGENT = (
    "tests/cluster/test_agent.py",
    "tests/cluster/test_agent_gates.py",
    "tests/cluster/test_agent_kubelet.py",
    "tests/cluster/test_control.py",
    "tests/cluster/test_controller_gangs.py",
    "tests/cluster/test_controller_nodes.py",
    "tests/cluster/test_controller_stream.py",
    "tests/cluster/test_crd.py",
    "tests/cluster/test_crd_published.py",
    "tests/cluster/test_launcher.py",
    "tests/kube_api",
)
_OF_THE_PLUGIN = (
    "tests/cluster/test_linked_gpus.py",
    "tests/cluster/test_modes.py",
    "tests/cluster/test_node_options.py",
    "tests/cluster/test_plugin_under_kubelet.py",
    "tests/cluster/test_pod_interfaces.py",
    "tests/cluster/test_rollback.py",
    "tests/cluster/test_shared_claims.py",
    "tests/cluster/test_story.py",
    "tests/cluster/test_story_layout.py",
)
# With Tangram's controller, on a machine that has what its examples ask for. Chaos comes last: an API server
# that was just started forbids what it allows later, and one test looks for that in the controller's log.
_CONTROLLED = (
    "tests/cluster/test_controller_pods.py",
    "tests/cluster/test_controller_page.py",
    "tests/cluster/test_controller_chaos.py",
)
_WITH_CONTROLLER = ("--controller", "--node-yaml", "dgx-a100")
# kube-scheduler allocates there, on a machine whose GPUs claims share too.
_CHAOS = ("tests/cluster/test_chaos.py",)
_WITH_SHARES = ("--node-yaml", "dgx-a100", "--driver-option=--gpu-modes=all=whole,mig,shared")
# With the controller and two nodes.
_OF_TWO_NODES = ("tests/cluster/test_multi_node_gpus.py", "tests/cluster/test_pods_that_name_nodes.py")
_TWO_NODES = ("--controller", "--nodes", "2")
# They install and uninstall Tangram as the pages say, so nothing of it may be there before.
_OF_A_NEWCOMER = ("tests/cluster/test_newcomer.py",)
_OF_A_BARE_NODE = (*_OF_A_NEWCOMER, "tests/cluster/test_chart_options.py")
_NOTHING_YET = ("--bare", "--with-image", "--helm")


@dataclass(frozen=True, slots=True)
class Part:
    """Tests for one cluster. Shape: ``arguments`` for pytest, ``options`` for the cluster."""

    name: str
    version: str
    arguments: tuple[str, ...]
    options: tuple[str, ...] = ()

    @property
    def has_clone(self) -> bool:
        """Whether its tests start from a clone of the checkout, which those of a newcomer do."""
        return MARKERS[self.version] == "cluster" and any(
            one.partition("::")[0] in _OF_A_NEWCOMER for one in self.arguments
        )


def parts(version: str, arguments: Sequence[str]) -> tuple[Part, ...]:
    """Return what is run on a version, each in a cluster of its own; what is named by hand stays together."""
    marked = ("-m", MARKERS[version])
    if arguments or MARKERS[version] == "layout":
        needed = _WITH_CONTROLLER if set(arguments) & set(_CONTROLLED) else ()
        needed = _TWO_NODES if set(arguments) & set(_OF_TWO_NODES) else needed
        needed = _WITH_SHARES if set(arguments) & set(_CHAOS) else needed
        needed = _NOTHING_YET if set(arguments) & set(_OF_A_BARE_NODE) else needed
        return (Part(version, version, (*(arguments or _FOLDERS), *marked), needed),)
    named = (*_OF_THE_AGENT, *_OF_THE_PLUGIN, *_CONTROLLED, *_CHAOS, *_OF_TWO_NODES, *_OF_A_BARE_NODE)
    others = (*(one for one in _FOLDERS if one not in named), *(f"--ignore={path}" for path in named))
    return (
        Part(f"{version}, agent", version, (*_OF_THE_AGENT, *marked)),
        Part(f"{version}, plugin", version, (*_OF_THE_PLUGIN, *marked)),
        Part(f"{version}, others", version, (*others, *marked)),
        Part(f"{version}, controller", version, (*_CONTROLLED, *marked), _WITH_CONTROLLER),
        Part(f"{version}, chaos", version, (*_CHAOS, *marked), _WITH_SHARES),
        Part(f"{version}, two nodes", version, (*_OF_TWO_NODES, *marked), _TWO_NODES),
        Part(f"{version}, newcomer", version, (*_OF_A_BARE_NODE, *marked), _NOTHING_YET),
    )


def run_in_clusters(
    versions: Sequence[str], arguments: Sequence[str], say: Callable[[str], None], clock: Callable[[], float]
) -> int:
    """Run the tests on each of these versions and return the first exit status that is not 0.

    The tests of a part that failed are tried once more when all parts are done (``second_try``).
    """
    todo = [part for version in versions for part in parts(version, arguments)]
    todo.sort(key=lambda part: bool(part.options))  # what needs a cluster of another kind is short
    tell = partial(print, flush=True) if len(todo) > 1 else None

    def run(part: Part) -> Outcome:
        start = clock()
        cache = empty(_CACHES / part.name.replace(", ", "-").replace(" ", "-"))
        status = _run(part, cache, tell)
        say(f"the tests on {part.name}: exit status {status} after {clock() - start:.0f} s")
        return Outcome(part.name, status, failed_tests(cache))

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        outcomes = list(pool.map(run, todo))
    if len(todo) > 1:
        outcomes = [_again(part, outcome, run) for part, outcome in zip(todo, outcomes, strict=True)]
        for line in summary(outcomes):
            say(line)
    return next((outcome.final for outcome in outcomes if outcome.final), 0)


def _again(part: Part, outcome: Outcome, run: Callable[[Part], Outcome]) -> Outcome:
    if not is_tried_again(outcome):
        return outcome
    chosen = (*outcome.failed, "-m", MARKERS[part.version]) if outcome.failed else part.arguments
    second = run(replace(part, name=f"{part.name}, again", arguments=chosen))
    return replace(outcome, second=second.status)


def _run(part: Part, cache: Path, tell: Callable[[str], None] | None) -> int:
    """Run a part; what it prints is told line by line with its name, or as it comes where it is alone.

    ``cache`` is pytest's cache folder, in which it notes what failed.
    """
    launcher = (sys.executable, str(CHECKOUT / "hack" / "cluster"), "run", "--version", part.version)
    command = (*launcher, *part.options, "--", *_pytest((*part.arguments, "-o", f"cache_dir={cache}")))
    with newcomer.clone() if part.has_clone else nullcontext() as folder:
        environment = {**os.environ, **({newcomer.VARIABLE: str(folder)} if folder else {})}
        if tell is None:
            return subprocess.call(command, cwd=CHECKOUT, env=environment)
        return _told(part.name, command, environment, tell)


def _told(
    name: str, command: Sequence[str], environment: Mapping[str, str], tell: Callable[[str], None]
) -> int:
    with subprocess.Popen(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            tell(f"{name} | {line.decode(errors='replace').rstrip()}")
    return running.returncode


def run_in_users_cluster(kubeconfig: str, arguments: Sequence[str], say: Callable[[str], None]) -> int:
    """Run the tests against the cluster that the user's kubeconfig names.

    Raises: LauncherError where it is not one existing file.
    """
    if not Path(kubeconfig).is_file():
        raise LauncherError(f"cannot test in the cluster of KUBECONFIG={kubeconfig}: name one existing file")
    say(f"the tests run in the cluster of KUBECONFIG={kubeconfig}")
    environment = {**os.environ, "TANGRAM_TEST_KUBECONFIG": str(Path(kubeconfig).absolute())}
    chosen = (*(arguments or _FOLDERS), "-m", "cluster")
    return subprocess.call(_pytest(chosen), cwd=CHECKOUT, env=environment)


def _pytest(arguments: Sequence[str]) -> tuple[str, ...]:
    return (sys.executable, "-m", "pytest", *arguments)
