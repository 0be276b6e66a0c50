"""A proxy that opens a tunnel to any server that a client names with CONNECT, and notes what it was asked."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread


class Proxy(ThreadingTCPServer):
    """Shape: ``asked`` has the request lines; with ``refusal`` it opens nothing and answers that."""

    daemon_threads = True
    block_on_close = False

    def __init__(self, refusal: bytes = b"") -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[str] = []
        self.refusal = refusal


class _Handler(StreamRequestHandler):
    server: Proxy

    def handle(self) -> None:
        head = [line for line in iter(self.rfile.readline, b"\r\n") if line]
        self.server.asked.append(head[0].decode().strip())
        if self.server.refusal:
            self.wfile.write(self.server.refusal)
            return
        host, _, port = head[0].split()[1].decode().rpartition(":")
        with socket.create_connection((host, int(port))) as there:
            self.wfile.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            back = Thread(target=_pump, args=(there, self.connection), daemon=True)
            back.start()
            _pump(self.connection, there)
            back.join()


def _pump(source: socket.socket, sink: socket.socket) -> None:
    """Hand on what comes, and its end."""
    try:
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
    except OSError:
        return  # one of both is gone


def proxying(proxy: Proxy) -> Iterator[Proxy]:
    thread = Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield proxy
    proxy.shutdown()
    thread.join()
    proxy.server_close()
