"""URLs, as Go's ``net/url`` reads them. Source: the Kubernetes URL library; RFC 3986."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, ip_address
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.errors import EvaluationError
from scheduler_core.cel.library.equality import make_strict
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import TYPE_NAMES
from scheduler_core.cel.work import ELEMENT, ENTRY, Work

_SCHEME: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):(.*)", re.ASCII | re.DOTALL)
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
_BAD_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})", re.ASCII)
_ASCII_ESCAPE: Final = re.compile(r"%(?!25)[0-7][0-9A-Fa-f]", re.ASCII)
_ESCAPE: Final = re.compile(rb"%([0-9A-Fa-f]{2})")
_BAD_IN_HOST: Final = re.compile(r"[\x00-\x20\"\\^`{|}#/?@%]", re.ASCII)
_USER: Final = re.compile(r"[A-Za-z0-9._:~!$&'()*+,;=%@-]*", re.ASCII)
_PORT: Final = re.compile(r"(?::[0-9]*)?", re.ASCII)
_PATH_AS_WRITTEN: Final = re.compile(r"[A-Za-z0-9._~$&+,/:;=@!'()*\[\]%-]*", re.ASCII)
_PATH_SAFE: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.~$&+,/:;=@")
_URL: Final = "kubernetes.URL"
_QUERY: Final = "map<string,list<string>>"


@dataclass(frozen=True, slots=True)
class Url:
    """The parts of a URL.

    Shape: ``opaque`` is what follows a scheme without a slash; host and path are empty then.
    """

    scheme: str
    opaque: str = ""
    user: str = ""
    host: str = ""
    path: str = ""
    query: str = ""
    fragment: str = ""


TYPE_NAMES[Url] = _URL
make_strict(Url)


def _error(text: str, reason: str) -> EvaluationError:
    return EvaluationError(f"URL {text[:64]!r}: {reason}")


def check_request(text: str) -> None:
    """Check that a text is an absolute URI or an absolute path, as a request line has it.

    Raises: EvaluationError saying what is wrong.
    """
    if not text:
        raise _error(text, "empty url")
    if text != "*":
        _read(text, is_request=True)


def parse(work: Work, text: str) -> Url:
    """Read a URL, with its fragment."""
    work.write(2 * len(text))
    check_request(text)
    if text == "*":
        return Url("", path="*")
    head, _, fragment = text.partition("#")
    url = _read(head, is_request=False)
    _check_escapes(fragment, text)
    return Url(url.scheme, url.opaque, url.user, url.host, url.path, url.query, fragment)


def _read(text: str, *, is_request: bool) -> Url:
    if _CONTROL.search(text):
        raise _error(text, "invalid control character")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, opaque=rest, query=query)
        if is_request:
            raise _error(text, "invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise _error(text, "first path segment cannot contain a colon")
    user = host = ""
    has_host = bool(scheme) or (not is_request and not rest.startswith("///"))
    if has_host and rest.startswith("//"):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        user, host = _authority(authority, scheme, text)
    _check_escapes(rest, text)
    return Url(scheme, user=user, host=host, path=rest, query=query)


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise _error(text, "missing protocol scheme")
    match = _SCHEME.fullmatch(text)
    return (match[1].lower(), match[2]) if match else ("", text)


def _authority(authority: str, scheme: str, text: str) -> tuple[str, str]:
    user, _, host = authority.rpartition("@")
    if not _USER.fullmatch(user):
        raise _error(text, "invalid userinfo")
    _check_escapes(user, text)
    _check_host(host, scheme, text)
    return user, _unescaped(host)


def _check_host(host: str, scheme: str, text: str) -> None:
    if "[" in host:
        _check_literal(host, text)
        return
    start = host.find(":") if scheme in ("http", "https") else host.rfind(":")
    if start >= 0 and not _PORT.fullmatch(host[start:]):
        raise _error(text, f"invalid port {host[start:]!r} after host")
    _check_escapes(host, text)
    if _ASCII_ESCAPE.search(host) or _BAD_IN_HOST.search(re.sub("%[0-9A-Fa-f]{2}", "", host)):
        raise _error(text, "invalid character in host name")


def _check_literal(host: str, text: str) -> None:
    """Check an address of IPv6 in brackets."""
    address, bracket, port = host[1:].rpartition("]")
    if not host.startswith("[") or not bracket or not _PORT.fullmatch(port):
        raise _error(text, "invalid IP-literal")
    try:
        literal = ip_address(_unescaped(address))
    except ValueError:
        raise _error(text, "invalid IP-literal") from None
    if isinstance(literal, IPv4Address):
        raise _error(text, "invalid IP-literal")


def _check_escapes(part: str, text: str) -> None:
    if _BAD_ESCAPE.search(part):
        raise _error(text, "invalid URL escape")


def _unescaped(part: str) -> str:
    if "%" not in part:
        return part
    raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), part.encode())
    return raw.decode(errors="replace")


def reads_as_url(text: str) -> bool:
    """Whether a string is an absolute URI or an absolute path."""
    try:
        check_request(text)
    except EvaluationError:
        return False
    return True


def is_url(work: Work, text: str) -> bool:
    """Whether a string is an absolute URI or an absolute path, and count its length."""
    work.write(2 * len(text))
    return reads_as_url(text)


def escaped_path(work: Work, url: Url) -> str:
    """Return the path, with escapes where they are needed."""
    work.write(2 * len(url.path))
    if _PATH_AS_WRITTEN.fullmatch(url.path):
        return url.path
    raw = _ESCAPE.sub(lambda match: bytes((int(match[1], 16),)), url.path.encode())
    return "".join(chr(byte) if byte in _PATH_SAFE else f"%{byte:02X}" for byte in raw)


def _host_and_port(work: Work, url: Url) -> tuple[str, str]:
    work.write(len(url.host))
    host, port = url.host, ""
    start = host.rfind(":")
    if start >= 0 and _PORT.fullmatch(host[start:]):
        host, port = host[:start], host[start + 1 :]
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    return host, port


def query(work: Work, url: Url) -> dict[str, list[str]]:
    """Return the values of each parameter; malformed parameters are left out."""
    work.write(2 * len(url.query))
    work.spend((url.query.count("&") + 1) * (ENTRY + 3 * ELEMENT))
    parameters: dict[str, list[str]] = {}
    for part in url.query.split("&"):
        if not part or ";" in part or _BAD_ESCAPE.search(part):
            continue
        key, _, value = part.partition("=")
        parameters.setdefault(_unescaped(key.replace("+", " ")), []).append(
            _unescaped(value.replace("+", " "))
        )
    return parameters


OVERLOADS: Final = (
    Overload("string_to_url", "url(string)", _URL, parse, counts=True),
    Overload("is_url_string", "isURL(string)", "bool", is_url, counts=True),
    Overload("url_get_scheme", f"{_URL}.getScheme()", "string", lambda url: url.scheme),
    Overload("url_get_host", f"{_URL}.getHost()", "string", lambda url: url.host),
    Overload(
        "url_get_hostname",
        f"{_URL}.getHostname()",
        "string",
        lambda work, url: _host_and_port(work, url)[0],
        counts=True,
    ),
    Overload(
        "url_get_port",
        f"{_URL}.getPort()",
        "string",
        lambda work, url: _host_and_port(work, url)[1],
        counts=True,
    ),
    Overload("url_get_escaped_path", f"{_URL}.getEscapedPath()", "string", escaped_path, counts=True),
    Overload("url_get_query", f"{_URL}.getQuery()", _QUERY, query, counts=True),
)
