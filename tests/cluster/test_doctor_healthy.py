"""``tangram doctor --cluster`` finds nothing in a cluster where all is well."""

from __future__ import annotations

from pathlib import Path

import pytest
from cluster_support import Document, eventually

from tangram.__main__ import main


def test_a_cluster_in_which_all_is_well_is_told_in_one_line(
    kubeconfig: Path, tangram: Document, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tangram

    def said() -> str:
        status = main(["doctor", "--cluster", "--kubeconfig", str(kubeconfig)])
        out, err = capsys.readouterr()
        assert (status, err) == (0, ""), f"{out}{err}"
        return out

    assert eventually(said, "nothing is stuck", 60) == "driver tangram.dev in the cluster: nothing is stuck\n"
