"""Where a program listens, as an option says it."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

from daemon.command_line import InvalidOption


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen. Shape: an empty ``host`` means every address of the machine."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine reaches it."""
        try:
            return ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @classmethod
    def given(cls, option: str, text: str | None) -> Address | None:
        """Return the address that an option has, None where it is not given. Raises: InvalidOption."""
        return None if text is None else cls.parse(option, text)

    @classmethod
    def parse(cls, option: str, text: str) -> Address:
        """Read ``HOST:PORT`` or ``:PORT``. Raises: InvalidOption."""
        host, colon, port = text.rpartition(":")
        if not colon or not port.isdecimal() or int(port) > 65535:
            raise InvalidOption(option, text, "must be HOST:PORT or :PORT, such as 127.0.0.1:9464")
        return cls(host.strip("[]"), int(port))
