"""``tangram serve``: the page of a running cluster for this machine's browser, kept up to date, read only."""

from __future__ import annotations

import sys
import time
from argparse import Namespace
from datetime import UTC, datetime
from threading import Event, Thread
from typing import Final

from controller.page.following import Clocks, Following
from daemon.address import Address
from daemon.page.hub import Hub
from daemon.page.server import serving_page
from daemon.signals import EndSignal
from tangram.clusters import Reading
from tangram.commands.pending import add_kubeconfig
from tangram.errors import BadInput, bad_argument
from tangram.face import DONE, Face, Subparsers, add_command
from tangram.loading import open_followed
from tangram.options import add_driver_name, add_only_driver
from tangram.page.report import titled
from tangram.preparable import driver_of
from tangram.summaries import SUMMARIES

_ADDRESS: Final = "127.0.0.1:8765"


def add(parsers: Subparsers) -> None:
    """Add the subcommand."""
    example = """tangram serve
  tangram serve --address 127.0.0.1:9000 --context staging

It watches nodes, slices, classes, claims and pods with the rights of the kubeconfig, and writes nothing.
It ends with Ctrl-C. docs/web.md says what is on the page, and how the controller serves it to others."""
    parser = add_command(parsers, "serve", SUMMARIES["serve"], example, _run)
    add_kubeconfig(parser)
    add_only_driver(parser)
    add_driver_name(parser, "Tangram's DRA driver, whose controller gives reasons")
    parser.add_argument(
        "--address",
        default=_ADDRESS,
        metavar="HOST:PORT",
        help="a loopback address; port 0 takes a free one; default: %(default)s",
    )


def _run(options: Namespace, face: Face) -> int:
    address = Address.parse("--address", options.address)
    if not address.is_loopback:
        rule = "must be a loopback address, such as 127.0.0.1:8765: whoever reaches it can read the page"
        raise bad_argument("--address", options.address, rule)
    # A server that cannot be read is told now.
    face.connect(options.kubeconfig, options.context).read("Node", Reading(lambda _: None))
    where = f"context {options.context}" if options.context else "the cluster"
    driver = driver_of(options)
    cluster = open_followed(options.kubeconfig, options.context, driver)
    title, drivers = titled(where, options.only_drivers), options.only_drivers
    following = Following(cluster.page_kinds, driver, title, _CLOCKS, drivers)
    hub, stop, ended = Hub(following.value()), Event(), EndSignal()
    try:
        with serving_page((address.host, address.port), hub, is_local=True) as port:
            shown = f"[{address.host}]" if ":" in address.host else address.host
            _tell(f"http://{shown}:{port}/", options, face)
            Thread(target=following.run, args=(hub.put, stop), name="page-model", daemon=True).start()
            ended.wait()
    except OSError as error:
        raise BadInput(f"serve: listen on {options.address}: {error.strerror or error}") from error
    finally:
        stop.set()
        cluster.close()
    return DONE


def _tell(url: str, options: Namespace, face: Face) -> None:
    if options.json:
        face.out.json({"url": url})
    else:
        face.out.text(f"serving {url} until Ctrl-C")
    sys.stdout.flush()


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


_CLOCKS: Final = Clocks(time.thread_time, time.time, _now)
