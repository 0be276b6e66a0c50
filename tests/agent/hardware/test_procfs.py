from __future__ import annotations

from pathlib import Path

import pytest

from agent.hardware.errors import NotFound
from agent.hardware.procfs import ProcBoot


def test_the_boot_id_is_the_kernels(tmp_path: Path) -> None:
    file = tmp_path / "proc/sys/kernel/random/boot_id"
    file.parent.mkdir(parents=True)
    file.write_text("06e28892-a5e6-446c-8fa6-bd9fecfadca1\n")

    assert ProcBoot(tmp_path).boot_id() == "06e28892-a5e6-446c-8fa6-bd9fecfadca1"


def test_a_root_without_procfs_is_an_error_and_not_a_reboot(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="boot_id"):
        ProcBoot(tmp_path).boot_id()
