"""The real NVML adapter without a GPU: fixtures that put a fake library in the driver's place."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pynvml
import pytest
from fake_nvml import FakeLibrary

from agent.hardware.nvml import Nvml
from agent.hardware.ports import Gpus


@pytest.fixture
def library_over(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Gpus], FakeLibrary]]:
    """Stand a fake library over some GPUs in the real one's place."""

    def stand_in(gpus: Gpus) -> FakeLibrary:
        library = FakeLibrary(gpus)
        monkeypatch.setattr(pynvml, "nvmlLib", library)
        pynvml._nvmlGetFunctionPointer_cache.clear()
        return library

    yield stand_in
    pynvml._nvmlGetFunctionPointer_cache.clear()


@pytest.fixture
def nvml_over(library_over: Callable[[Gpus], FakeLibrary]) -> Iterator[Callable[[Gpus], Nvml]]:
    """Our real adapter, over the fake library, over some GPUs."""
    sessions: list[Nvml] = []

    def open_over(gpus: Gpus) -> Nvml:
        library_over(gpus)
        sessions.append(Nvml.open())
        return sessions[-1]

    yield open_over
    for session in sessions:
        session.close()
