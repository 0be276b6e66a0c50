"""Clients of the webhook, in a process of their own, as API servers are: clients.py PORT CLIENTS COUNT RATE.

Takes certificates and a review on standard input; prints the nanoseconds of each review and of all as JSON.
Each review is due at a time, RATE of them a second, and its time counts from then on. At RATE 0 each follows
the one before on its connection.
"""

from __future__ import annotations

import http.client
import json
import socket
import ssl
import sys
import time
from threading import Thread
from typing import Final

HOST: Final = "localhost"
_START_NS: Final = 50_000_000


class Client(Thread):
    """One connection and the times of its reviews."""

    def __init__(self, port: int, trusted: str, body: bytes) -> None:
        super().__init__()
        context = ssl.create_default_context(cadata=trusted)
        # By address: a machine without /etc/hosts does not resolve the name in the certificate.
        plain = socket.create_connection(("127.0.0.1", port), timeout=30)
        self._connection = http.client.HTTPConnection(HOST, port)
        self._connection.sock = context.wrap_socket(plain, server_hostname=HOST)
        self._body = body
        self._due_ns: list[int] = []
        self.took_ns: list[int] = []
        self._ask()  # the handshake, and the first review

    def add(self, due_ns: int) -> None:
        """Add a review. Shape: 0 for one that follows the one before."""
        self._due_ns.append(due_ns)

    def run(self) -> None:
        """Ask when it is due."""
        for due_ns in self._due_ns:
            time.sleep(max(0, due_ns - time.monotonic_ns()) / 1e9)
            begun_ns = due_ns or time.monotonic_ns()
            self._ask()
            self.took_ns.append(time.monotonic_ns() - begun_ns)

    def _ask(self) -> None:
        self._connection.request("POST", "/mutate", self._body, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        text = answer.read()
        if answer.status != http.client.OK:
            raise SystemExit(f"the webhook answered {answer.status}: {text[:200]!r}")


def main(port: int, clients: int, count: int, rate: float) -> None:
    """Ask ``count`` reviews by some clients."""
    told = json.load(sys.stdin)
    body = json.dumps(told["review"]).encode()
    made = [Client(port, told["trusted"], body) for _ in range(clients)]
    start_ns = time.monotonic_ns() + _START_NS
    for number in range(count):
        due_ns = start_ns + int(number * 1e9 / rate) if rate else 0
        made[number % clients].add(due_ns)
    for one in made:
        one.start()
    for one in made:
        one.join()
    lasted_ns = time.monotonic_ns() - start_ns + (0 if rate else _START_NS)
    print(json.dumps({"took_ns": [took for one in made for took in one.took_ns], "lasted_ns": lasted_ns}))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]))
