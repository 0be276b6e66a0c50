"""Log lines of a call wait for its answer."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Iterator

import pytest

from plugin.telling import deferred_log

_log = logging.getLogger("late")


@pytest.fixture
def written() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(deferred_log.DeferLines(handler))
    _log.addHandler(handler)
    _log.setLevel(logging.INFO)
    yield stream
    for each in tuple(_log.handlers):
        _log.removeHandler(each)


def test_lines_of_a_call_are_written_after_it_in_their_order(written: io.StringIO) -> None:
    with deferred_log.DeferredLines() as lines:
        _log.info("one")
        _log.info("two")
        assert written.getvalue() == ""

    lines.write()
    _log.info("three")

    assert written.getvalue() == "one\ntwo\nthree\n"


def test_a_warning_waits_for_nobody_and_takes_earlier_lines_along(written: io.StringIO) -> None:
    with deferred_log.DeferredLines() as lines:
        _log.info("before")
        _log.warning("now")
        _log.info("after")
        assert written.getvalue() == "before\nnow\n"

    lines.write()

    assert written.getvalue() == "before\nnow\nafter\n"


def test_each_of_several_handlers_writes_a_line_once(written: io.StringIO) -> None:
    at_once = io.StringIO()
    _log.addHandler(logging.StreamHandler(at_once))
    with deferred_log.DeferredLines() as lines:
        _log.info("one")

    lines.write()

    assert (written.getvalue(), at_once.getvalue()) == ("one\n", "one\n")


def test_lines_of_all_threads_of_a_call_wait_for_its_answer(written: io.StringIO) -> None:
    with deferred_log.DeferredLines() as lines:

        def work() -> None:
            with lines:
                _log.info("for the call")
            _log.info("elsewhere")

        _log.info("one")
        other = threading.Thread(target=work)
        other.start()
        other.join()
        assert written.getvalue() == "elsewhere\n"

    lines.write()

    assert written.getvalue() == "elsewhere\none\nfor the call\n"


def test_other_threads_write_meanwhile(written: io.StringIO) -> None:
    with deferred_log.DeferredLines():
        other = threading.Thread(target=_log.info, args=("elsewhere",))
        other.start()
        other.join()

        assert written.getvalue() == "elsewhere\n"
