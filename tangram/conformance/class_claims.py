"""Claims that ask for a resource class: each class becomes the DeviceClass that it compiles to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.frontends.classes.compile import device_class_of
from scheduler_core.frontends.classes.decode import decode_resource_class

_ASKED: Final = "resourceClassName"


def with_device_classes(content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a case in which every resource class is a DeviceClass and claims ask for that.

    Raises: InvalidResourceClass, CannotCompile.
    """
    if "resourceClasses" not in content:
        return content
    compiled = [device_class_of(decode_resource_class(one)) for one in content["resourceClasses"]]
    return {
        **content,
        "classes": [*(content.get("classes") or ()), *compiled],
        "claims": [_asking(one) for one in content.get("claims") or ()],
    }


def _asking(value: Any) -> Any:
    """Return a part of a claim in which ``resourceClassName`` is ``deviceClassName``."""
    match value:
        case dict():
            return {"deviceClassName" if key == _ASKED else key: _asking(one) for key, one in value.items()}
        case list():
            return [_asking(one) for one in value]
        case _:
            return value
