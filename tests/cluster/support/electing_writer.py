"""A process of an election that writes while it may: electing_writer.py KUBECONFIG NAMESPACE NAME.

Each write creates a ConfigMap that names the process. It prints ``may write`` and ``may not write`` when that
changes. At SIGUSR1 it stops itself (SIGSTOP) with a write in hand: after it was allowed, before it is sent.
When it runs again it prints ``withheld`` if that write was held back, or ``sent``.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from pathlib import Path

from controller.election.elector import Elector
from controller.election.values import Times
from controller.lease_api import ApiLease
from kube_api import ApiError, KubeApi, Limits, Resource, Withheld

CONFIG_MAPS = Resource.of("v1", "ConfigMap", "configmaps", namespaced=True)
TIMES = Times(lease_s=8.0, longest_write_s=1.0, renew_every_s=0.5)
LEASE = "electing"


def main(kubeconfig: Path, namespace: str, name: str) -> None:
    stop, asked = threading.Event(), threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stop.set())
    signal.signal(signal.SIGUSR1, lambda *_: asked.set())
    lease = ApiLease.connect(kubeconfig, None, namespace, LEASE, TIMES.longest_write_s)
    elector = Elector(lease, name, TIMES, lambda may: say("may write" if may else "may not write"))
    thread = threading.Thread(target=elector.run, args=(stop,))
    thread.start()
    limits = Limits(call_timeout_s=1.0, read_timeout_s=1.0, connect_timeout_s=0.5, attempts=1)
    api = KubeApi.connect(kubeconfig, user_agent=name, limits=limits).guarded(elector.may_write)
    while not stop.wait(0.02):
        if elector.may_write():
            freezes = asked.is_set()
            if freezes:
                asked.clear()
                os.kill(os.getpid(), signal.SIGSTOP)
            write(api, namespace, name, is_told=freezes)
    thread.join()
    elector.release()


def write(api: KubeApi, namespace: str, name: str, *, is_told: bool) -> None:
    try:
        api.create(CONFIG_MAPS, {"metadata": {"generateName": "write-"}, "data": {"by": name}}, namespace)
    except Withheld:
        outcome = "withheld"
    except ApiError as error:
        outcome = f"failed: {error}"
    else:
        outcome = "sent"
    if is_told:
        say(outcome)


def say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
