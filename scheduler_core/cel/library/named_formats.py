"""Named formats: ``format.dns1123Label().validate(text)`` is none, or the list of what is wrong.

Source: the Kubernetes format library; apimachinery ``validation``.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.cel.library.equality import make_strict
from scheduler_core.cel.library.time_texts import is_date
from scheduler_core.cel.library.urls import reads_as_url
from scheduler_core.cel.overloads import Overload
from scheduler_core.cel.values import NONE, TYPE_NAMES, Option, some
from scheduler_core.cel.work import Work

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*", re.ASCII)
_LABEL_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_UUID: Final = re.compile(r"[0-9a-f]{8}(-?[0-9a-f]{4}){3}-?[0-9a-f]{12}", re.ASCII | re.IGNORECASE)
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})", re.ASCII
)
_TIME: Final = re.compile(
    r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})", re.ASCII
)
_FORMAT: Final = "kubernetes.NamedFormat"
Check = Callable[[str], list[str]]


@dataclass(frozen=True, slots=True)
class NamedFormat:
    """A format. Shape: ``pattern_size`` is the length of a pattern that one check counts as."""

    name: str
    check: Check
    pattern_size: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, NamedFormat) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


TYPE_NAMES[NamedFormat] = _FORMAT
make_strict(NamedFormat)


def _pattern(pattern: re.Pattern[str], limit: int, rule: str, *, is_prefix: bool = False) -> Check:
    """Return a check by pattern and length. A prefix may end in the dash that a generated name needs."""

    def check(text: str) -> list[str]:
        masked = text[:-2] + "a" if is_prefix and len(text) > 1 and text.endswith("-") else text
        problems = [f"must be no more than {limit} characters"] if len(masked.encode()) > limit else []
        return problems if pattern.fullmatch(masked) else [*problems, rule]

    return check


def _condition(holds: Callable[[str], bool], rule: str) -> Check:
    return lambda text: [] if holds(text) else [rule]


def _qualified_name(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) > 2:
        return ["a qualified name must be a name, with a DNS subdomain and '/' before it where needed"]
    problems = _pattern(_NAME, 63, "name part must be letters, digits, '-', '_' and '.'")(parts[-1])
    if len(parts) == 2:
        problems += _pattern(_SUBDOMAIN, 253, "prefix part must be a DNS subdomain")(parts[0])
    return problems


def _is_datetime(text: str) -> bool:
    parts = text.lower().split("t")
    return len(parts) > 1 and is_date(parts[0]) and _TIME.fullmatch(parts[1]) is not None


_LABEL_RULE: Final = "must be lower-case letters, digits and '-', with a letter or digit at both ends"
_SUBDOMAIN_RULE: Final = "must be DNS labels joined by '.'"
_LABEL_1035_RULE: Final = "must be lower-case letters, digits and '-', with a letter at its start"
_LABEL_VALUE: Final = re.compile(rf"({_NAME.pattern})?", re.ASCII)

FORMATS: Final = {
    "dns1123Label": NamedFormat("DNS1123Label", _pattern(_LABEL, 63, _LABEL_RULE), 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _pattern(_SUBDOMAIN, 253, _SUBDOMAIN_RULE), 60),
    "dns1035Label": NamedFormat("DNS1035Label", _pattern(_LABEL_1035, 63, _LABEL_1035_RULE), 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat(
        "DNS1123LabelPrefix", _pattern(_LABEL, 63, _LABEL_RULE, is_prefix=True), 30
    ),
    "dns1123SubdomainPrefix": NamedFormat(
        "DNS1123SubdomainPrefix", _pattern(_SUBDOMAIN, 253, _SUBDOMAIN_RULE, is_prefix=True), 60
    ),
    "dns1035LabelPrefix": NamedFormat(
        "DNS1035LabelPrefix", _pattern(_LABEL_1035, 63, _LABEL_1035_RULE, is_prefix=True), 30
    ),
    "labelValue": NamedFormat(
        "LabelValue", _pattern(_LABEL_VALUE, 63, "must be letters, digits, '-', '_' and '.'"), 40
    ),
    "uri": NamedFormat("URI", _condition(reads_as_url, "must be an absolute URI or path"), 1103),
    "uuid": NamedFormat(
        "uuid", _condition(lambda text: bool(_UUID.fullmatch(text)), "does not match the UUID format"), 70
    ),
    "byte": NamedFormat("byte", _condition(lambda text: bool(_BASE64.fullmatch(text)), "invalid base64"), 84),
    "date": NamedFormat("date", _condition(is_date, "invalid date"), 71),
    "datetime": NamedFormat("datetime", _condition(_is_datetime, "invalid datetime"), 71),
}


def named(name: str) -> Option:
    """Return the format of a name, if any."""
    return some(FORMATS[name]) if name in FORMATS else NONE


def validate(work: Work, format_: NamedFormat, text: str) -> Option:
    """Return what is wrong with a text, none where nothing is."""
    work.write(len(text))
    problems = format_.check(text)
    return some(problems) if problems else NONE


def _constant(format_: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: format_


OVERLOADS: Final = (
    *(
        Overload(f"format.{name}", f"format\\.{name}()", _FORMAT, _constant(format_))
        for name, format_ in FORMATS.items()
    ),
    Overload("format-named", r"format\.named(string)", f"optional_type<{_FORMAT}>", named),
    Overload(
        "format-validate", f"{_FORMAT}.validate(string)", "optional_type<list<string>>", validate, counts=True
    ),
)
