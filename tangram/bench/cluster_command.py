"""``tangram bench cluster``: reads the options of the benchmark in a cluster.

Takes options; returns a ``Bench``. This module finds the cluster and checks that kubectl exists.
"""

from __future__ import annotations

import subprocess
import sys
import time
import uuid
from argparse import Namespace
from collections.abc import Callable
from dataclasses import replace

from tangram.bench.cluster_port import Bench
from tangram.bench.cluster_run import measure
from tangram.bench.controller import many, refusals
from tangram.bench.controller.run import measure as measure_controller
from tangram.bench.report import Report
from tangram.errors import BadInput
from tangram.face import Face, Parser

_KUBECTL_S = 60


def add_options(parser: Parser) -> None:
    """Add the options that are for a cluster only."""
    parser.add_argument(
        "--kubeconfig", metavar="FILE", help="of cluster; default: $KUBECONFIG, then ~/.kube/config"
    )
    parser.add_argument(
        "--context", metavar="NAME", help="of cluster: of the kubeconfig; default: its current one"
    )
    parser.add_argument(
        "--beside",
        metavar="DRIVER",
        help="of cluster: another driver, to be measured in the same turns; its device class has its name",
    )
    parser.add_argument(
        "--check", action="store_true", help="of cluster: exit status 1 where a figure is not as it must be"
    )


def measured(options: Namespace, face: Face) -> Report:
    """Measure the cluster of the options. Raises: BadInput."""
    return measure(bench_of(options, face))


def measured_controller(options: Namespace, face: Face) -> Report:
    """Measure the controller in the cluster of the options. Raises: BadInput."""
    return measure_controller(_loaded(options, face), options.kubeconfig)


def measured_many(options: Namespace, face: Face) -> Report:
    """Measure the controller on all nodes of the cluster of the options. Raises: BadInput."""
    return many.measure(_loaded(options, face), options.kubeconfig)


def measured_refusals(options: Namespace, face: Face) -> Report:
    """Count what is refused in the cluster of the options. Raises: BadInput."""
    return refusals.measure(bench_of(options, face), options.kubeconfig, options.count or refusals.PODS)


def _loaded(options: Namespace, face: Face) -> Bench:
    """Return the surroundings of a run where ``--count`` says how many pods come at once."""
    bench = bench_of(options, face)
    return replace(bench, loaded=options.count) if options.count else bench


def bench_of(options: Namespace, face: Face) -> Bench:
    """Return the surroundings of a run."""
    return Bench(
        cluster=face.live(options.kubeconfig, options.context),
        kubectl=_kubectl(options),
        clock=time.perf_counter,
        sleep=time.sleep,
        say=lambda what: print(f"cluster: {what}", file=sys.stderr, flush=True),
        namespace=f"bench-{uuid.uuid4().hex[:8]}",
        beside=options.beside,
        **({"count": options.count} if options.count else {}),
    )


def _kubectl(options: Namespace) -> Callable[..., str]:
    where = [f"--kubeconfig={options.kubeconfig}"] if options.kubeconfig else []
    where += [f"--context={options.context}"] if options.context else []

    def run(*arguments: str) -> str:
        command = ("kubectl", *where, *arguments)
        try:
            answer = subprocess.run(  # noqa: S603 - kubectl, with what the user gave
                command, capture_output=True, text=True, timeout=_KUBECTL_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BadInput(f"cannot run kubectl to read the memory of Tangram's pod: {error}") from error
        if answer.returncode != 0:
            raise BadInput(f"cannot read Tangram's pod: kubectl says: {answer.stderr.strip()}")
        return answer.stdout

    return run
