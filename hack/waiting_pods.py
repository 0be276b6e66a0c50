"""Measures a controller for whose pods there are no devices: until all are told why, and then at rest.

Starts an API server of its own (make cluster-tools), without scheduler and kubelet, with two nodes of two
GPUs; prints figures. Exit status 1 where one is not as it must be. ``make bench-waiting`` runs it with the
tests' fakes on its path.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path

from claims_at_server import claim, pod
from controlled_server import Controlled, controlling
from controlled_server.cutting_proxy import CuttingProxy, cutting_proxy
from controller_server import kubeconfig_of, real_server
from real_api import programs
from scripted_api import write_kubeconfig

from kube_api import KubeApi, Limits

ROOT = Path(__file__).parents[1]
CONNECTIONS = 8
COUNTS = 20  # so many shapes differ in their number of GPUs, more of them in their CPU
LONGEST_S = 1800.0
QUIET_S = 10.0
MOST_SHARE = 0.05


def main() -> int:
    """Measure what the options say; return the exit status."""
    parser = argparse.ArgumentParser(description="pods that fit nowhere: the controller's time and rest")
    parser.add_argument("--pods", type=int, default=10_000)
    parser.add_argument("--shapes", type=int, default=10, help="how many kinds of requests there are")
    parser.add_argument("--rest", type=float, default=60.0, help="seconds to look at the controller at rest")
    options = parser.parse_args()
    if programs(ROOT) is None:
        parser.error("there is no API server to start: run make cluster-tools first")
    with ExitStack() as opened:
        folder = Path(opened.enter_context(tempfile.TemporaryDirectory()))
        server = opened.enter_context(contextmanager(real_server)(folder))
        limits = Limits(calls_per_s=4000, burst=8000)
        api = KubeApi.connect(kubeconfig_of(server, folder / "direct"), user_agent="bench", limits=limits)
        opened.callback(api.close)
        cluster = Controlled(api)
        cluster.prepare()
        for name in ("node-a", "node-b"):
            cluster.add_node(name)
        say("pods are made in", made(cluster, options.pods, options.shapes), "s")
        proxy = opened.enter_context(cutting_proxy(server))
        through = write_kubeconfig(folder / "through", proxy.address, {}, {})
        process = opened.enter_context(controlling(through, folder / "log"))
        return measured(proxy, process.pid, options.pods, options.rest)


def made(cluster: Controlled, pods: int, shapes: int) -> float:
    """Make gated pods that need more GPUs than a node has; return the seconds that it took."""

    def make(number: int) -> None:
        shape = number % shapes
        cluster.put("ResourceClaim", claim(f"c{number}", "gpu", 3 + shape % COUNTS))
        cluster.put("Pod", pod(f"p{number}", f"c{number}", cpu=f"{1 + shape // COUNTS}m"))

    began = time.monotonic()
    with ThreadPoolExecutor(CONNECTIONS) as pool:
        list(pool.map(make, range(pods)))
    return time.monotonic() - began


def measured(proxy: CuttingProxy, pid: int, pods: int, rest_s: float) -> int:
    """Print what the controller takes; return the exit status."""
    began = time.monotonic()
    until(lambda: proxy.asked["PATCH pods"] >= pods, "all pods are told")
    say("all are told after", time.monotonic() - began, "s, from the controller's start")
    say("processor time until then", processor_s(pid), "s")
    wait_until_quiet(proxy)
    before, took_s = requests(proxy), processor_s(pid)
    time.sleep(rest_s)
    share = (processor_s(pid) - took_s) / rest_s
    asked = requests(proxy) - before
    say("processor time at rest", 100 * share, f"% of a core (at most {100 * MOST_SHARE:.0f})")
    say("requests at rest", sum(asked.values()), f"(must be none) {dict(asked) or ''}")
    return 0 if share <= MOST_SHARE and not asked else 1


def requests(proxy: CuttingProxy) -> Counter[str]:
    """Return how often what was answered. The Lease, watches and kinds that the server lacks are left out."""
    found = Counter[str]()
    for one, count in dict(proxy.answered).items():
        method, plural, status = one.split()
        if method != "WATCH" and plural != "leases" and status != "404":
            found[one] = count
    return found


def wait_until_quiet(proxy: CuttingProxy) -> None:
    """Wait until nothing was asked for a time: events are written after the conditions."""
    last, since = requests(proxy), time.monotonic()

    def is_quiet() -> bool:
        nonlocal last, since
        if (now := requests(proxy)) != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since >= QUIET_S

    until(is_quiet, "the controller comes to rest")


def until(is_so: Callable[[], bool], what: str) -> None:
    """Wait until something is so. Raises: SystemExit after the bound."""
    end = time.monotonic() + LONGEST_S
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"not within {LONGEST_S:.0f} s: {what}")
        time.sleep(0.5)


def processor_s(pid: int) -> float:
    """Return the processor time of a process. Units: seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def say(what: str, figure: float, unit: str) -> None:
    """Print a figure."""
    print(f"{what}: {figure:.1f} {unit}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
