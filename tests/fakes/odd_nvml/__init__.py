"""The library of a driver that answers oddly about one GPU, or about the node.

An odd answer is a return code; a text for every text of the answer; or a number for every number of it, which
C keeps as far as it fits. Handles stay as they are: only the library itself knows what they mean.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from ctypes import Array, Structure, c_char, c_int, c_uint, c_ulonglong
from typing import Any

import pynvml
from fake_nvml import FakeLibrary

from agent.hardware.ports import Gpus

Odd = int | bytes | tuple[int]
"""A number, a text, or a return code."""
_NUMBERS = (c_int, c_uint, c_ulonglong)
OF_THE_NODE = (
    "nvmlSystemGetDriverVersion",
    "nvmlSystemGetCudaDriverVersion",
    "nvmlDeviceGetCount_v2",
)
OF_A_GPU = tuple(
    name
    for part in FakeLibrary.__mro__
    for name in vars(part)
    if name.startswith("nvml") and "Get" in name and name not in OF_THE_NODE
)
"""What is asked about one GPU, or about what was cut from it."""


class _Unchanging:
    """The GPUs of a machine that nobody changes: each is asked once. Most of a campaign's time was this."""

    def __init__(self, gpus: Gpus) -> None:
        self._gpus = gpus

    def __getattr__(self, name: str) -> Any:
        answers = functools.cache(getattr(self._gpus, name))
        setattr(self, name, answers)
        return answers


class OddLibrary(FakeLibrary):
    """The whole library over GPUs that nobody changes.

    Shape: ``odd`` answers by the function's name; ``index`` of the GPU in question.
    """

    def __init__(self, gpus: Gpus, index: int = 0) -> None:
        super().__init__(_Unchanging(gpus))
        self.odd: Mapping[str, Odd] = {}
        self.index = index
        self.uuid = gpus.gpus()[index].uuid  # type: ignore[union-attr]
        for name in dir(FakeLibrary):
            if name.startswith("nvml"):
                setattr(self, name, self._oddly(name, getattr(self, name)))

    def _oddly(self, name: str, function: Callable[..., int]) -> Callable[..., int]:
        def called(*arguments: Any) -> int:
            odd = self.odd.get(name) if name in OF_THE_NODE or self._is_about_it(arguments) else None
            if isinstance(odd, tuple):
                return odd[0]
            try:
                code = function(*arguments)
            except (IndexError, KeyError, TypeError, ValueError):  # it was asked by an odd answer of before
                return int(pynvml.NVML_ERROR_INVALID_ARGUMENT)
            if odd is not None and code == pynvml.NVML_SUCCESS:
                for argument in arguments[1 if name in OF_A_GPU else 0 :]:
                    _answer(getattr(argument, "_obj", argument), odd)
            return code

        return called

    def _is_about_it(self, arguments: tuple[Any, ...]) -> bool:
        """Whether a call names the GPU by its index, or by a handle of it or of what was cut from it."""
        if arguments and isinstance(arguments[0], c_uint):
            return bool(arguments[0].value == self.index)
        try:
            return self.uuid in self._thing(arguments[0])
        except (IndexError, TypeError, ValueError):
            return False


def _answer(place: Any, odd: int | bytes) -> None:
    """Write an odd answer where the caller reads the right one."""
    if isinstance(place, Array) and place._type_ is c_char:
        if isinstance(odd, bytes):
            place.value = odd[: len(place)]
    elif isinstance(place, Array):
        for part in place:
            _answer(part, odd)
    elif isinstance(place, Structure):
        _answer_structure(place, odd)
    elif isinstance(place, _NUMBERS) and isinstance(odd, int):
        place.value = odd


def _answer_structure(place: Structure, odd: int | bytes) -> None:
    for name, kind, *_ in place._fields_:
        if name == "version":
            continue
        if kind in _NUMBERS and isinstance(odd, int):
            setattr(place, name, odd)
        elif isinstance(kind, type) and issubclass(kind, Array) and kind._type_ is c_char:
            if isinstance(odd, bytes):
                setattr(place, name, odd[: kind._length_])
        elif isinstance(kind, type) and issubclass(kind, Structure | Array):
            _answer(getattr(place, name), odd)
