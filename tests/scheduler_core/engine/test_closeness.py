"""Claims for devices below one topmost switch: of several pairs the one with the nearest common switch."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import BEST_FIT, FIRST_FIT
from scheduler_core.explain.allocate import allocate
from scheduler_core.model.claim import MatchAttribute
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.names import qualified
from scheduler_core.model.nodes import Node
from scheduler_core.model.result import Allocation
from scheduler_core.state.testing import ANY, DRIVER, NODE, claim, device, held, pool, request

SWITCH = qualified("pcieSwitch", DRIVER)
BELOW_ONE = MatchAttribute(SWITCH, ("gpu", "nic"))
PATHS = st.sampled_from(["", "a", "a/b", "a/b/c", "a/b/d", "a/e", "f", "f/g", "f/g/h"])
TREES = st.tuples(st.lists(PATHS, min_size=1, max_size=5), st.lists(PATHS, min_size=1, max_size=4))


def of(kind):
    return f'device.attributes["{DRIVER}"].kind == "{kind}"'


def placed(kind, number, path):
    place = {"pcieSwitch": path.split("/")[0], "pcieSwitchPath": path} if path else {}
    return device(f"{kind}-{number}", attributes={"kind": kind, **place})


def names(answer, wanted):
    return [one.device.device for one in answer.results[wanted.ref]]


def one_of_each(**attributes):
    return claim(request("gpu", of("gpu")), request("nic", of("nic")), constraints=[BELOW_ONE], **attributes)


def shared(one, other):
    """How many switches are above both, by what the paths begin with."""
    mine, theirs = one.split("/"), other.split("/")
    return max(n for n in range(min(len(mine), len(theirs)) + 1) if mine[:n] == theirs[:n])


@settings(max_examples=150, deadline=None)
@given(st.lists(TREES, min_size=1, max_size=3), st.data())
def test_the_pair_with_the_nearest_common_switch_is_taken_of_those_that_fit(trees, data):
    devices = [
        [
            placed(kind, n, path)
            for kind, paths in zip(("gpu", "nic"), tree, strict=True)
            for n, path in enumerate(paths)
        ]
        for tree in trees
    ]
    pools = [pool(*found, node=f"node-{number}") for number, found in enumerate(devices)]
    used = [data.draw(st.sets(st.sampled_from([one.name for one in found]))) for found in devices]
    allocated = [
        held(*sorted(mine), by=f"other-{n}", pool_name=f"node-{n}") for n, mine in enumerate(used) if mine
    ]
    cluster = Cluster(pools=tuple(pools), classes={"any": ANY}, allocated=tuple(allocated))
    best, first = Engine.of(cluster, BEST_FIT), Engine.of(cluster, FIRST_FIT)
    wanted = one_of_each()

    for number, (gpus, nics) in enumerate(trees):
        node = Node(f"node-{number}")
        pairs = {
            (f"gpu-{gpu}", f"nic-{nic}"): shared(gpus[gpu], nics[nic])
            for gpu, nic in product(range(len(gpus)), range(len(nics)))
            if gpus[gpu] and shared(gpus[gpu], nics[nic]) and not {f"gpu-{gpu}", f"nic-{nic}"} & used[number]
        }
        answer = best.allocate([wanted], node)

        assert isinstance(answer, Allocation) == bool(pairs)
        if pairs:
            assert pairs[tuple(names(answer, wanted))] == max(pairs.values())
        # The other policy takes what kube-scheduler takes: it knows of no closeness.
        assert first.allocate([wanted], node) == allocate([wanted], cluster, node)


def test_two_pairs_are_each_as_close_as_they_can_be():
    paths = {"gpu": ["a/b", "a/c", "a/d/e"], "nic": ["a", "a/d", "a/b"]}
    devices = [placed(kind, n, path) for kind, mine in paths.items() for n, path in enumerate(mine)]
    cluster = Cluster(pools=(pool(*devices),), classes={"any": ANY})
    wanted = claim(
        *(request(f"{kind}-{pair}", of(kind)) for pair in "xy" for kind in ("gpu", "nic")),
        constraints=[MatchAttribute(SWITCH, (f"gpu-{pair}", f"nic-{pair}")) for pair in "xy"],
    )

    answer = Engine.of(cluster).allocate([wanted], NODE)

    assert sorted(map(tuple, [names(answer, wanted)[:2], names(answer, wanted)[2:]])) == [
        ("gpu-0", "nic-2"),
        ("gpu-2", "nic-1"),
    ]


def test_a_path_that_contradicts_the_topmost_switch_is_not_believed():
    odd = device("nic-0", attributes={"kind": "nic", "pcieSwitch": "z", "pcieSwitchPath": "a/b"})
    cluster = Cluster(pools=(pool(placed("gpu", 0, "a/b"), odd),), classes={"any": ANY})

    assert not isinstance(Engine.of(cluster).allocate([one_of_each()], NODE), Allocation)
