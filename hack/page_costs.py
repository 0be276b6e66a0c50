"""Measures what the page and the commands that read a whole cluster cost: python hack/page_costs.py.

A server with many objects stands for the API server, in a process of its own: 1,000 nodes with 7 slices and
280 devices each, 8,000 holders, pods that wait. ``commands`` runs each command and prints the peak of its
memory (VmHWM), its processor time and its time. ``changes`` lets pods come and go under ``tangram serve``,
and prints the time until a reader of events, and a Chromium, has each. ``page`` opens the file in Chromium.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import Any, Final
from urllib.parse import urlsplit

ROOT: Final = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests/fakes"), str(ROOT)]

import page_objects  # noqa: E402 - found by the lines above
from chromium import page_of, real_chromium  # noqa: E402
from many_objects import ManyObjects, add_nodes, kinds_of, node_name  # noqa: E402
from scripted_api import write_kubeconfig  # noqa: E402

HOLDS: Final = (
    ("research", "gpu-0"),
    ("research", "gpu-1"),
    ("recsys", "gpu-2-mig-3g-20gb-0-3"),
    ("vision", "gpu-2-mig-1g-5gb-6"),
    ("vision", "gpu-4-mig-2g-10gb-2-3"),
    ("vision", "gpu-5-mig-1g-5gb-3"),
    ("recsys", "gpu-6-mig-4g-20gb-0-3"),
    ("vision", "gpu-6-mig-3g-20gb-4-7"),
)
SHAPES: Final = (("gpu", ""), ("mig", "9g.90gb"))
# Runs a command in this process, and tells the peak of its memory at the end.
TOLD: Final = """
import sys
from tangram.__main__ import main
try:
    main()
finally:
    with open('/proc/self/status') as status:
        print(*[one for one in status if one.startswith('VmHWM')], file=sys.stderr)
"""
COMMANDS: Final = {
    "report": ("report", "--html", "HTML", "--cluster"),
    "top": ("top", "--cluster"),
    "explain": ("explain", "--cluster", "--claim", "vision/waiting-0-gpu", "--json"),
    "plan": ("plan", "--cluster", "--json"),
    "pending": ("pending",),
    "show": ("show", "--cluster", "--json"),
}
LONGEST_S: Final = 900.0


def main() -> None:
    """Measure what the options say."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=("commands", "changes", "page"), nargs="+")
    parser.add_argument("--nodes", type=int, default=1000)
    parser.add_argument("--waiting", type=int, default=20, help="pods that wait, of two shapes")
    parser.add_argument("--times", type=int, default=10, help="how many pods come and go")
    parser.add_argument(
        "--only", nargs="*", choices=tuple(COMMANDS), default=["report", "top", "explain", "plan"]
    )
    parser.add_argument("--controlled", action="store_true", help="the nodes are the controller's")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, served(options) as server:
        kubeconfig = write_kubeconfig(Path(folder) / "config", server, {}, {})
        html = Path(folder) / "report.html"
        for what in options.what:
            if what == "changes":
                changes(server, kubeconfig, options)
                continue
            for name in options.only if what == "commands" else ("report",):
                measured(name, kubeconfig, html)
            if what == "page":
                opened(html, options.nodes)


def cluster(options: argparse.Namespace) -> ManyObjects:
    """Make the cluster and its server."""
    nodes = [node_name(number) for number in range(options.nodes)]
    objects: list[Any] = [page_objects.device_class(kind) for kind in ("gpu", "mig")]
    for node in nodes:
        for place, (namespace, device) in enumerate(HOLDS):
            objects += page_objects.running(namespace, f"{node}-{place}", node, device)
    for number in range(options.waiting):
        objects += page_objects.waiting("vision", f"waiting-{number}", *SHAPES[1])
    kinds = kinds_of(objects)
    node, *slices = page_objects.node("NODE")
    if options.controlled:
        node["metadata"]["labels"]["tangram.dev/allocator"] = "controller"
    add_nodes(kinds, [node, *slices], "NODE", options.nodes)
    return ManyObjects(kinds)


def _serve(pipe: Connection, options: argparse.Namespace) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    server = cluster(options)
    pipe.send(f"http://127.0.0.1:{server.server_address[1]}")
    server.serve_forever()


@contextmanager
def served(options: argparse.Namespace) -> Iterator[str]:
    """Serve the cluster in a process of its own while the block runs; hand out its address."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_serve, args=(there, options), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def measured(name: str, kubeconfig: Path, html: Path) -> None:
    """Run a command; print its peak of memory, processor time and time."""
    words = [str(html) if one == "HTML" else one for one in COMMANDS[name]]
    began, before = time.monotonic(), os.times()
    done = subprocess.run(
        [sys.executable, "-c", TOLD, *words, "--kubeconfig", str(kubeconfig)],
        cwd=ROOT,
        check=False,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    after = os.times()
    took = after.children_user - before.children_user + after.children_system - before.children_system
    *told, peak = done.stderr.strip().splitlines() or [""]
    say(
        f"{name}: peak {mib(peak):.0f} MiB, processor time {took:.1f} s, "
        f"{time.monotonic() - began:.1f} s by the clock, exit status {done.returncode}"
    )
    for one in told[:3]:
        say("  ", one[:200])


def changes(server: str, kubeconfig: Path, options: argparse.Namespace) -> None:
    """Let pods come and go under ``tangram serve``; print when readers have it."""
    command = [sys.executable, "-m", "tangram", "serve", "--address", "127.0.0.1:0", "--kubeconfig"]
    began = time.monotonic()
    with subprocess.Popen(
        [*command, str(kubeconfig)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            address = process.stdout.readline().split()[1]
            reader = Reader(address)
            until(lambda: len(reader.nodes) == options.nodes and not reader.notes, "the first whole value")
            say(f"serve: the whole cluster is on the page after {time.monotonic() - began:.1f} s, ", end="")
            say(f"processor time {processor_s(process.pid):.1f} s, peak {peak_of(process.pid):.0f} MiB")
            with real_chromium() as browser, page_of(browser) as page:
                page.goto(address)
                page.locator(".state.live").wait_for(timeout=LONGEST_S * 1000)
                page.locator(".node").first.wait_for(timeout=LONGEST_S * 1000)
                tell_changes(server, process.pid, reader, page, options.times)
            say(f"serve: peak {peak_of(process.pid):.0f} MiB at the end")
        finally:
            process.terminate()


def tell_changes(server: str, pid: int, reader: Reader, page: Any, times: int) -> None:
    """Make and delete a pod that waits, again and again; print when it is told, and when it is drawn."""
    told: list[float] = []
    drawn: list[float] = []
    cost: list[float] = []
    for number in range(times):
        claim, pod = page_objects.waiting("vision", f"new-{number}", *SHAPES[1])
        post(server, "resourceclaims", claim)
        rest(pid)
        before, began = processor_s(pid), time.monotonic()
        post(server, "pods", pod)
        until(lambda name=f"new-{number}": name in reader.waiting, "the pod is told")
        told.append(time.monotonic() - began)
        page.locator(f"text=new-{number}").first.wait_for(state="attached", timeout=LONGEST_S * 1000)
        drawn.append(time.monotonic() - began)
        rest(pid)
        cost.append(processor_s(pid) - before)
        post(server, "pods", pod, "?deleted")
        until(lambda name=f"new-{number}": name not in reader.waiting, "its end is told")
    for what, found in (("told", told), ("drawn in Chromium", drawn), ("processor time of serve", cost)):
        say(f"one change, {what}: median {statistics.median(found):.2f} s, longest {max(found):.2f} s")


class Reader:
    """Reads the events of a page, in a thread of its own."""

    def __init__(self, address: str) -> None:
        self.nodes: set[str] = set()
        self.notes: list[str] = ["not read yet"]
        self.waiting: set[str] = set()
        url = urlsplit(address)
        connection = HTTPConnection(url.hostname or "", url.port, timeout=LONGEST_S)
        connection.request("GET", "/events")
        self._answer = connection.getresponse()
        Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._answer:
            if line.startswith(b"data: "):
                self._take(json.loads(line[6:]))

    def _take(self, value: dict[str, Any]) -> None:
        nodes = value.get("nodes", ())
        self.nodes |= set(nodes) if isinstance(nodes, dict) else {one["name"] for one in nodes}
        if "waiting" in value:
            self.waiting = {one["name"] for one in value["waiting"]}
        self.notes = value.get("notes", self.notes)


def opened(html: Path, nodes: int) -> None:
    """Open a report in Chromium; print the size, and the times until rows, a search, and an opened node."""
    say(f"the file: {html.stat().st_size / 1e6:.1f} MB")
    with real_chromium() as browser, page_of(browser) as page:
        began = time.monotonic()
        page.goto(html.as_uri())
        page.locator(".node").first.wait_for(timeout=LONGEST_S * 1000)
        say(f"until its rows are there: {time.monotonic() - began:.2f} s")
        say(f"rows: {page.locator('.node').count()} of {nodes}")
        began = time.monotonic()
        page.locator("input[type=search]").fill(node_name(nodes - 1))
        page.locator(f".node:visible:has-text('{node_name(nodes - 1)}')").first.wait_for(timeout=60_000)
        say(f"a search over all nodes: {time.monotonic() - began:.2f} s")


def post(server: str, plural: str, document: Any, query: str = "") -> None:
    """Make or delete an object."""
    url = urlsplit(server)
    connection = HTTPConnection(url.hostname or "", url.port, timeout=60)
    path = f"/api/v1/{plural}" if plural == "pods" else f"/apis/resource.k8s.io/v1/{plural}"
    connection.request("POST", path + query, json.dumps(document))
    connection.getresponse().read()
    connection.close()


def rest(pid: int) -> None:
    """Wait until a process has used next to nothing for a second."""
    before = processor_s(pid)
    while True:
        time.sleep(1.0)
        now = processor_s(pid)
        if now - before < 0.1:
            return
        before = now


def until(is_so: Callable[[], bool], what: str) -> None:
    """Ask again until the answer is true. Raises: SystemExit if it is not by the time limit."""
    end = time.monotonic() + LONGEST_S
    while not is_so():
        if time.monotonic() > end:
            raise SystemExit(f"after {LONGEST_S:.0f} s: not yet: {what}")
        time.sleep(0.005)


def processor_s(pid: int) -> float:
    """Return the processor time that a process has used. Units: seconds."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_of(pid: int) -> float:
    """Return the peak of a process's memory. Units: MiB."""
    status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    return mib(next(one for one in status if one.startswith("VmHWM")))


def mib(line: str) -> float:
    """Read a line such as ``VmHWM: 1024 kB``."""
    words = line.split()
    return int(words[1]) / 1024 if line.startswith("VmHWM") else float("nan")


def say(*words: object, end: str = "\n") -> None:
    """Print at once."""
    print(*words, end=end, flush=True)


if __name__ == "__main__":
    main()
