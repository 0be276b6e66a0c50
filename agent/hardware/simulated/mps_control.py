"""The program ``nvidia-cuda-mps-control`` of a simulated machine: its text is what the machine's tree has.

It uses nothing but Python's own library, and of that only what loads fast, since each command starts it anew.
With ``-d`` or ``-f`` it becomes a daemon, else it sends the commands of its standard input to one and prints
the answers. Files, sockets and refusals are those of NVIDIA's program: a second daemon in a folder is
refused; the file with the process number goes when the daemon ends, and the sockets stay. No CUDA program can
use it, so it starts no server.
Source: nvidia-cuda-mps-control(1); listings of the pipe folder of drivers 535 to 580.
"""

from __future__ import annotations

import _socket  # to load socket takes longer than all that most commands do
import fcntl
import os
import sys
import time

TYPE_CHECKING = False  # as typing's, which takes long to load, too
if TYPE_CHECKING:
    import socket

_PID_FILE = "nvidia-cuda-mps-control.pid"
_LOOK_S = 0.5
_ANSWER_BYTES = 4096


class Daemon:
    """The daemon of one folder. Shape: ``limits`` by device, as they were given."""

    def __init__(self, pipe: str, log: str) -> None:
        self.pipe = pipe
        self.log = f"{log}/control.log"
        self.percentage = 100.0
        self.limits: dict[str, str] = {}
        self.folder = os.open(pipe, os.O_RDONLY | os.O_DIRECTORY)

    def serve(self) -> None:
        """Answer until it is told to quit, or its folder is gone with the simulated machine.

        Its file is looked for in the folder that it began in: after a reboot, another daemon may have a
        folder of that path.
        """
        import select  # noqa: PLC0415 - only the daemon needs them, and it starts once
        import signal  # noqa: PLC0415

        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        pid_file = f"{self.pipe}/{_PID_FILE}"
        with open(pid_file, "w") as file:
            file.write(f"{os.getpid()}\n")
        try:
            listening = [_listening(f"{self.pipe}/{name}") for name in ("control_privileged", "control")]
            os.chmod(f"{self.pipe}/control", 0o666)  # noqa: S103 - as NVIDIA's: for all users
            self.note(f"Starting control daemon using socket {self.pipe}/control")
            while self._has_file():
                for found in select.select(listening, [], [], _LOOK_S)[0]:
                    if not self._answer(found):
                        return
        finally:
            if self._has_file():
                self.note("Exit")
                _remove(_PID_FILE, self.folder)

    def _has_file(self) -> bool:
        try:
            os.stat(_PID_FILE, dir_fd=self.folder)
        except FileNotFoundError:
            return False
        return True

    def note(self, text: str) -> None:
        """Add a line to the log, if its folder is still there."""
        try:
            with open(self.log, "a") as file:
                file.write(f"[{time.strftime('%Y-%m-%d %H:%M:%S')} Control {os.getpid()}] {text}\n")
        except OSError:
            return

    def _answer(self, listening: socket.socket) -> bool:
        """Answer one connection; return whether the daemon goes on."""
        connection, _ = listening.accept()
        self.note("Accepting connection...")
        with connection:
            while True:
                command = connection.recv(_ANSWER_BYTES).decode()
                if not command:
                    return True
                answer = self.obeyed(command.split())
                connection.send((answer or "\n").encode())
                if command.split() == ["quit"]:
                    return False

    def obeyed(self, words: list[str]) -> str:
        """Carry a command out and return what the program prints; an error begins with ``!``."""
        match words:
            case ["get_server_list"] | ["quit"]:
                return ""
            case ["get_default_active_thread_percentage"]:
                return str(self.percentage)
            case ["set_default_active_thread_percentage", text] if _is_percentage(text):
                self.percentage = float(text)
                return str(self.percentage)
            case ["set_default_device_pinned_mem_limit", device, text] if _is_amount(text):
                self.limits[device] = text
                return ""
            case ["get_default_device_pinned_mem_limit", device]:
                return self.limits.get(device, "")
            case _:
                return f"!Invalid command: {' '.join(words)}"


def main(arguments: list[str]) -> int:
    """Do what the arguments say and return the exit status."""
    pipe = os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps")  # noqa: S108 - NVIDIA's default
    log = os.environ.get("CUDA_MPS_LOG_DIRECTORY", "/var/log/nvidia-mps")
    match arguments:
        case ["-d"]:
            return _begun(pipe, log, in_background=True)
        case ["-f"]:
            return _begun(pipe, log, in_background=False)
        case []:
            return _asked(pipe, sys.stdin.read().splitlines())
        case _:
            return _print("usage: nvidia-cuda-mps-control [-d | -f]", 1)


def _begun(pipe: str, log: str, *, in_background: bool) -> int:
    try:
        for folder in (pipe, log):
            if not os.path.isdir(folder):
                os.mkdir(folder)
        lock = os.open(f"{pipe}/control_lock", os.O_CREAT | os.O_RDWR, 0o666)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return _print("An instance of this daemon is already running", 1)
    except OSError as error:
        return _print(f"Failed to start: {error}", 1)
    if in_background:
        if os.fork():
            return 0
        os.setsid()
        if os.fork():
            os._exit(0)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for number in range(3):
            os.dup2(nowhere, number)
    Daemon(pipe, log).serve()
    return 0


def _asked(pipe: str, commands: list[str]) -> int:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    try:
        connection.connect(f"{pipe}/control")
        for command in filter(None, map(str.strip, commands)):
            connection.send(command.encode())
            answer = connection.recv(_ANSWER_BYTES).decode()
            if answer.startswith("!"):
                return _print(answer[1:], 1)
            sys.stdout.write(answer.strip() + "\n" if answer.strip() else "")
    except OSError:
        return _print("Cannot find MPS control daemon process", 1)
    finally:
        connection.close()
    return 0


def _listening(path: str) -> socket.socket:
    import socket  # noqa: PLC0415

    _remove(path)
    found = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    found.bind(path)
    found.listen()
    return found


def _remove(path: str, folder: int | None = None) -> None:
    try:
        os.unlink(path, dir_fd=folder)
    except FileNotFoundError:
        return


def _is_percentage(text: str) -> bool:
    return text.replace(".", "", 1).isdigit() and 0 < float(text) <= 100


def _is_amount(text: str) -> bool:
    return text[:-1].isdigit() and int(text[:-1]) > 0 and text[-1] in "MG"


def _print(text: str, status: int) -> int:
    sys.stdout.write(f"{text}\n")
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
