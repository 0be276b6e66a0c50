"""A process killed while it writes or removes metadata files leaves what the next calls put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from devices_of_kinds import STEPS_AFTER_LOOK, STEPS_OF_LOOK

from plugin.kinds.registry import KINDS
from plugin.kinds.table import AnyKind
from plugin.kinds.whole_gpus.whole_gpu import WholeGpuKind

STEPS_OF_METADATA, STEPS_AFTER_METADATA = 3 + 3, 2
"""A file and the document that mounts it; the document. The file goes with its folder, without a step."""
(WHOLE_GPU,) = (kind for kind in KINDS.preparable if isinstance(kind, WholeGpuKind))
Dies = Callable[[str, AnyKind, int], str]


@pytest.mark.parametrize("step", range(1, STEPS_OF_LOOK + STEPS_OF_METADATA + 1))
def test_killed_while_it_writes_metadata_a_start_and_the_next_calls_leave_none(
    telling_bench: Any, dies: Dies, step: int
) -> None:
    assert dies("look_at+metadata", WHOLE_GPU, step)

    telling_bench.restart()
    ((device,), files) = telling_bench.look_at("u1", "gpu-0"), metadata_files(telling_bench)
    telling_bench.unprepare("u1")

    assert device.cdi_ids == ("tangram.dev/claim=u1-gpu-0", "tangram.dev/metadata=u1_r")
    assert files == ["metadata.json"]
    assert telling_bench.leftovers() == []


@pytest.mark.parametrize("step", range(1, STEPS_AFTER_LOOK + STEPS_AFTER_METADATA + 1))
def test_killed_while_it_removes_metadata_the_next_unprepare_leaves_none(
    telling_bench: Any, dies: Dies, step: int
) -> None:
    telling_bench.look_at("u1", "gpu-0")
    assert dies("unprepare+metadata", WHOLE_GPU, step)

    telling_bench.restart()
    telling_bench.unprepare("u1")

    assert telling_bench.leftovers() == []


def test_no_step_of_metadata_was_forgotten(telling_bench: Any, dies: Dies) -> None:
    assert not dies("look_at+metadata", WHOLE_GPU, STEPS_OF_LOOK + STEPS_OF_METADATA + 1)
    assert not dies("unprepare+metadata", WHOLE_GPU, STEPS_AFTER_LOOK + STEPS_AFTER_METADATA + 1)
    assert telling_bench.leftovers() == []


def metadata_files(bench: Any) -> list[str]:
    return [path.name for path in bench.options.metadata_dir.rglob("*") if path.is_file()]
