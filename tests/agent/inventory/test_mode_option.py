"""The option of the modes: every text means one thing or is refused with the rule."""

import pytest

from agent.__main__ import main as agent
from agent.inventory.modes import GpuModes, ModesOfGpu
from agent.inventory.options.mode_option import read_gpu_modes
from daemon.command_line import InvalidOption
from plugin.__main__ import main as plugin

DEFAULT = GpuModes()
RIGHT = [
    (["all=whole,mig,shared"], GpuModes(ModesOfGpu(shared=100))),
    (["0=mps", "all=whole"], GpuModes(ModesOfGpu(mig=False), {0: ModesOfGpu(False, False, mps=100)})),
    (["0,2-3=whole"], GpuModes(by_number=dict.fromkeys([0, 2, 3], ModesOfGpu(mig=False)))),
    (["255=mig,mps:1%,shared:99%"], GpuModes(by_number={255: ModesOfGpu(False, True, 99, 1)})),
    (
        ["all=mig", "3=mig:on"],
        GpuModes(ModesOfGpu(whole=False), {3: ModesOfGpu(whole=False, keeps_mig=True)}),
    ),
]
FORM = "must be GPUs=MODES: all or numbers from 0 to 255"
ALONE = "mig:on keeps GPUs in MIG mode, which leaves room for no other mode: it stands alone"
PARTS = "either no parts, or both have one of 1% to 99%"
WRONG = [
    *(
        (text, FORM)
        for text in ["", "all", "=whole", "a=whole", "-1=whole", "5-2=whole", "256=mig", "0,=mig"]
    ),
    *(
        (text, FORM)
        for text in ["0=", "0=whole,", "0=vfio", "0=whole,whole", " 0=mig", "١=mig", "0=mps:100%", "0=mps:x%"]
    ),
    *((text, FORM) for text in ["0=mig:off", "0=whole:on", "0=mig:ON", "0=mig:on%", "0=mig:", "0=mig:on "]),
    *(
        (f"0={text}", ALONE)
        for text in ["whole,mig:on", "mig:on,mig", "mig:on,shared", "mps,mig:on", "mig:on,"]
    ),
    *(
        (f"0={text}", PARTS)
        for text in [
            "mps:50%",
            "shared:60%,mps:50%",
            "shared:50%,mps",
            "whole:50%",
            "mig:5%,shared:50%,mps:50%",
            "shared:0%,mps:50%",
        ]
    ),
]


@pytest.mark.parametrize(("texts", "modes"), RIGHT)
def test_the_option_says_the_modes_of_all_gpus_or_of_some(texts, modes):
    assert read_gpu_modes(texts) == modes
    assert read_gpu_modes(None) == DEFAULT


@pytest.mark.parametrize(("text", "rule"), WRONG)
def test_any_other_text_is_refused_with_the_rule(text, rule):
    with pytest.raises(InvalidOption) as refused:
        read_gpu_modes(["7=whole", text])

    assert (refused.value.option, refused.value.value) == ("--gpu-modes", text)
    assert rule in refused.value.rule


@pytest.mark.parametrize("texts", [["0-3=whole", "2=mig"], ["all=mig", "all=mig"]])
def test_no_gpu_is_named_twice(texts):
    with pytest.raises(InvalidOption, match="no other entry may name the same GPUs"):
        read_gpu_modes(texts)


@pytest.mark.parametrize("program", [agent, plugin])
def test_agent_and_plugin_refuse_it_in_the_same_way(program, capsys, tmp_path):
    arguments = ["--simulated", "a100x2", "--machine", str(tmp_path / "m"), "--node-name", "n"]
    more = ["--claims", str(tmp_path)] if program is plugin else []

    assert program([*arguments, *more, "--gpu-modes", "x"]) == 2

    assert "cannot use --gpu-modes 'x': must be GPUs=MODES" in capsys.readouterr().err
    assert not (tmp_path / "m").exists()
