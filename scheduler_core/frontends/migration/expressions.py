"""Selectors of claims and classes: what they read of NVIDIA's driver, and the same of this driver."""

from __future__ import annotations

from typing import Any, Final

from scheduler_core.base.errors import SelectorError
from scheduler_core.frontends.migration.names import DRIVER, MIG_CLASS, TYPES, lost_value
from scheduler_core.frontends.migration.values import Notes, entries, mapping
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.rules.selectors import Selector, written_for

_NO_UUID: Final = (
    "attribute uuid: a partition is made for its claim and has no UUID before; "
    "the claim's status.devices has it afterwards"
)


def migrated_selectors(selectors: Any, class_name: str, path: str, notes: Notes) -> Any:
    """Return the selectors of a request or class; what cannot be said of this driver stays, with a note.

    Shape: ``class_name`` is the class of the devices that they are for.
    """
    if not isinstance(selectors, list):
        return selectors
    found = list(selectors)
    for index, selector in entries(selectors):
        cel = mapping(mapping(selector).get("cel"))
        text = cel.get("expression")
        if isinstance(text, str) and DRIVER in text:
            place = f"{path}[{index}].cel.expression"
            found[index] = {
                **selector,
                "cel": {**cel, "expression": _migrated(text, class_name, place, notes)},
            }
    return found


def _migrated(text: str, class_name: str, path: str, notes: Notes) -> str:
    """Return the expression about this driver's devices, or the text as it was, with a note."""
    try:
        selector = Selector(text)
        problems = _problems(selector, class_name)
        changed = written_for(text, DRIVER, DEFAULT_DRIVER) if not problems else None
    except SelectorError as error:
        notes.add(path, str(error))
        return text
    if changed is None:
        for problem in problems or [
            f"it uses the text {DRIVER} in a way that cannot be followed for certain"
        ]:
            notes.add(path, problem)
        return text
    return changed


def _problems(selector: Selector, class_name: str) -> list[str]:
    """Return why a selector has no counterpart, as far as what it reads says it."""
    read = selector.reads_of(DRIVER)
    if read is None:
        return ["it computes which attributes it reads"]
    found = [one for one in (lost_value(kind, name) for kind, name in sorted(read)) if one is not None]
    types = selector.compared(("attributes", DRIVER, "type"))
    found += [f"type {one}: devices here are gpu or mig" for one in types if one not in TYPES]
    is_mig = class_name == MIG_CLASS or selector.demanded(DRIVER, "type") == frozenset(("mig",))
    if is_mig and ("attributes", "uuid") in read:
        found.append(_NO_UUID)
    return found
