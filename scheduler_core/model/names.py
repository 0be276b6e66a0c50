"""Rules for names, and how the two dialects spell the same name.

The composite dialect allows ``copy-engines`` and ``memorySlice0``; v1 needs C identifiers for capacities
and DNS labels for counters and devices. A name is split into words and joined again in the other spelling,
so that every spelling can be turned back. The projection refuses a name that cannot be turned back.
"""

from __future__ import annotations

import re
from typing import Final

from scheduler_core.base.limits import DOMAIN_LENGTH, IDENTIFIER_LENGTH, LABEL_LENGTH, POOL_NAME_LENGTH
from scheduler_core.model.device import QualifiedName

_LABEL: Final = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?", re.ASCII)
_DOTTED: Final = re.compile(
    r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_C_IDENTIFIER: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_COMPOSITE_IDENTIFIER: Final = re.compile(r"[A-Za-z_](?:[-A-Za-z0-9_]*[A-Za-z0-9_])?", re.ASCII)
_WORD_START: Final = re.compile(
    r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])", re.ASCII
)
_MEMORY_SLICE: Final = re.compile(r"memory-slice-([0-9]{1,3})")

DEFAULT_DRIVER: Final = "tangram.dev"
"""The name of the DRA driver, unless an option gives another."""

LABEL_RULE: Final = f"must be a DNS label (a-z, 0-9, -) of at most {LABEL_LENGTH} characters"
NAME_RULE: Final = f"must be a DNS label, or labels joined by dots, of at most {LABEL_LENGTH} characters"
DRIVER_RULE: Final = f"must be a lower-case DNS subdomain of at most {DOMAIN_LENGTH} characters"
SUBDOMAIN_RULE: Final = f"must be a lower-case DNS subdomain of at most {POOL_NAME_LENGTH} characters"
POOL_RULE: Final = f"must be DNS subdomains joined by '/', of at most {POOL_NAME_LENGTH} characters"
IDENTIFIER_RULE: Final = (
    f"must be an identifier of at most {IDENTIFIER_LENGTH} characters, with a domain of at most "
    f"{DOMAIN_LENGTH} characters and '/' before it where it is not the driver's own"
)


def is_label(text: str) -> bool:
    """Whether ``text`` is a DNS label."""
    return len(text) <= LABEL_LENGTH and _LABEL.fullmatch(text) is not None


def is_dotted_name(text: str) -> bool:
    """Whether ``text`` may name a composite device or mixin. The KEP's examples have dots in names."""
    return len(text) <= LABEL_LENGTH and _DOTTED.fullmatch(text) is not None


def is_driver(text: str) -> bool:
    """Whether ``text`` may name a driver."""
    return len(text) <= DOMAIN_LENGTH and _DOTTED.fullmatch(text) is not None


def is_subdomain(text: str) -> bool:
    """Whether ``text`` may name a claim, a class or a node."""
    return len(text) <= POOL_NAME_LENGTH and _DOTTED.fullmatch(text) is not None


def is_pool(text: str) -> bool:
    """Whether ``text`` may name a pool."""
    return len(text) <= POOL_NAME_LENGTH and all(_DOTTED.fullmatch(part) for part in text.split("/"))


def is_identifier(text: str, *, allows_dashes: bool) -> bool:
    """Whether ``text`` may name an attribute or capacity, without its domain."""
    pattern = _COMPOSITE_IDENTIFIER if allows_dashes else _C_IDENTIFIER
    return len(text) <= IDENTIFIER_LENGTH and pattern.fullmatch(text) is not None


def qualified(key: str, driver: str) -> QualifiedName:
    """Return ``key`` with its domain. A key without a domain belongs to the driver."""
    return QualifiedName(key if "/" in key else f"{driver}/{key}")


def bare(name: str, driver: str) -> str:
    """Return ``name`` as a slice of ``driver`` writes it: the driver's own domain is left out."""
    return name.removeprefix(f"{driver}/")


def domain_and_identifier(name: str) -> tuple[str, str]:
    """Split a qualified name at the last slash: an identifier has none."""
    domain, _, identifier = name.rpartition("/")
    return domain, identifier


def capacity_spelling(identifier: str) -> str:
    """Return the v1 capacity name: ``copy-engines`` is ``copyEngines``."""
    first, *rest = identifier.split("-")
    return first + "".join(word[:1].upper() + word[1:] for word in rest)


def counter_spelling(identifier: str) -> str:
    """Return the v1 counter name: ``memorySlice0`` is ``memory-slice-0``."""
    return _WORD_START.sub("-", identifier).replace("_", "-").lower()


def label_spelling(name: str) -> str:
    """Return the v1 device name: dots of a composite name become dashes."""
    return name.replace(".", "-")


def memory_slice(dimension: str) -> int | None:
    """Return the number of the memory slice that a dimension of either dialect counts, None for any other."""
    match = _MEMORY_SLICE.fullmatch(counter_spelling(domain_and_identifier(dimension)[1]))
    return int(match[1]) if match else None
