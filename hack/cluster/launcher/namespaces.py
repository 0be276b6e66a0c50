"""The outer side: a folder, namespaces around the supervisor, and the certainty that both end.

In go settings; out comes the exit status of what ran inside. The kernel ends every process when any process
of the chain ends (parent-death signals down to process 1 of the namespace); the folder on disk is removed by
us, or by a watcher where we were killed. Nothing else outside is changed, apart from a
cgroup of the same name where one can be made.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from launcher.cgroups import device_filters_can_be_loaded, make_own, own_group, remove_own
from launcher.part import Patience
from launcher.settings import Settings

_PROGRAM = Path(__file__).resolve().parents[1]
_PREFIX = "tangram-cluster-"
_PARENT = Path("/var/tmp")  # on disk, unlike /tmp on many machines: durable writes cost what they cost
_SECONDS_TO_REMOVE = 30.0
_SECONDS_TO_LOCK = 60.0
_LOCK = "lock"


@contextmanager
def folder(patience: Patience, keep_logs: Path | None) -> Iterator[Path]:
    """Give a folder for one cluster and remove it in the end, also when this process is killed."""
    sweep(_PARENT, now=time.time())
    path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_PARENT))
    lock = (path / _LOCK).open("w")
    fcntl.flock(lock, fcntl.LOCK_EX)
    watcher = subprocess.Popen(
        (sys.executable, str(_PROGRAM), "watch-folder", str(path), *([str(keep_logs)] if keep_logs else [])),
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        pass_fds=(lock.fileno(),),  # locked as long as one of us two lives
        start_new_session=True,
    )
    assert watcher.stdin is not None
    if device_filters_can_be_loaded():
        make_own(path)
    try:
        yield path
    finally:
        remove(path, keep_logs, patience)
        watcher.stdin.close()
        watcher.wait()
        lock.close()


def sweep(parent: Path, now: float) -> None:
    """Remove the folders of clusters that ended with everything around them, as in a power cut.

    Units: ``now`` in seconds since the epoch; a folder younger than a minute may not be locked yet.
    """
    for path in parent.glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):
            if (
                _is_ours(path)
                and now - path.stat().st_mtime > _SECONDS_TO_LOCK
                and not _is_locked(path / _LOCK)
            ):
                shutil.rmtree(path, ignore_errors=True)
                remove_own(path)


def _is_ours(path: Path) -> bool:
    """Whether our user made this folder: anybody may put a link or a folder of that name there."""
    status = path.lstat()
    return stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid()


def _is_locked(lock: Path) -> bool:
    try:
        opened = os.open(lock, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:  # whoever removed the folder was killed in the middle of it
        return False
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(opened)
    return False


def remove(path: Path, keep_logs: Path | None, patience: Patience) -> None:
    """Remove the cluster's folder: again while processes that are still ending fill it once more."""
    if keep_logs and (path / "logs").exists():
        shutil.copytree(path / "logs", keep_logs, dirs_exist_ok=True)

    def is_gone() -> bool:
        shutil.rmtree(path, ignore_errors=True)
        remove_own(path)
        return not path.exists() and own_group(path) is None

    patience.until(is_gone, _SECONDS_TO_REMOVE)


def watch_folder(path: Path, keep_logs: Path | None, patience: Patience) -> None:
    """Wait until standard input ends, which is when the owner of the folder has, then remove the folder."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sys.stdin.buffer.read()
    if path.exists():
        remove(path, keep_logs, patience)


def run_inside(settings: Settings) -> int:
    """Run the supervisor in namespaces of its own and return its exit status.

    Shape: 128 + the signal's number where a signal ended it.
    """
    process = subprocess.Popen(
        (
            *("setpriv", "--pdeathsig", "KILL"),
            *("unshare", "--mount", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"),
            *("--propagation", "private"),
            *(sys.executable, str(_PROGRAM), "inside", settings.to_json()),
        )
    )
    # What is typed is for the command inside; we end when it does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: process.kill())
    status = process.wait()
    return status if status >= 0 else 128 - status


def be_process_one() -> None:
    """Stay as process 1, which buries what loses its parent, and return in a child that does the work."""
    child = os.fork()
    if child == 0:
        return
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    while True:
        pid, status = os.wait()
        if pid == child:
            # Process 1 takes all others along.
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)
