"""The two sides of a comparison. Takes questions; returns answers in their order; both have one form.

The upstream side is the program in hack/upstream-allocator, ours is ``tangram bench --input``: each one
process for all questions that it is asked. README.md of the former has the fields of an answer.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from tangram.bench.objects import Json

Side = Callable[[Iterable[Json]], Iterator[Json]]
HERE = Path(__file__).parent


def built_upstream() -> Path:
    """Return the upstream program, built where it is not. Ends this program where Go is absent."""
    build = HERE / "upstream-allocator/build.sh"
    done = subprocess.run(["sh", build], stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    return Path(done.stdout.strip())


def upstream(program: Path, limit_s: float) -> Side:
    """Return the side that asks the upstream allocator."""
    return _side([str(program), "-limit", f"{limit_s}s"])


def ours(limit_s: float) -> Side:
    """Return the side that asks our core, with upstream's own policy."""
    command = [sys.executable, "-m", "tangram", "bench", "--input", "-", "--json", "--limit", str(limit_s)]
    return _side(command)


def _side(command: Sequence[str]) -> Side:
    def answers(questions: Iterable[Json]) -> Iterator[Json]:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as running:
            assert running.stdin
            assert running.stdout
            writer = threading.Thread(target=_write, args=(running, questions), daemon=True)
            writer.start()
            try:
                for line in running.stdout:
                    yield json.loads(line)
            except GeneratorExit:  # nobody wants the rest, as where the other side has failed
                running.kill()
                raise
            finally:
                writer.join()
        if running.returncode:
            sys.exit(running.returncode)

    return answers


def _write(running: subprocess.Popen[str], questions: Iterable[Json]) -> None:
    assert running.stdin
    try:
        with running.stdin as sink:
            for one in questions:
                sink.write(json.dumps(one, separators=(",", ":")) + "\n")
    except BrokenPipeError:
        return  # its exit status tells why it went
