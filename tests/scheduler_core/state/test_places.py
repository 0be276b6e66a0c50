"""Trial takes: tables and ledgers admit the same devices and shares, in any order of takes and returns."""

from hypothesis import example, given
from hypothesis import strategies as st

from scheduler_core.base.quantity import Quantity
from scheduler_core.books.ledger import Ledger
from scheduler_core.model.claim import AllocatedClaim, AllocatedDevice, ClaimRef
from scheduler_core.model.device import Device, DeviceId, DeviceName, Draw, QualifiedName, SourceName
from scheduler_core.model.nodes import OnNode
from scheduler_core.model.pool import Pool, PoolId
from scheduler_core.state.cluster_state import ClusterState
from scheduler_core.state.places import LedgerPlace, TablePlace, Trial, admits, is_in_use

CORE = QualifiedName("d/core")
SOURCE = SourceName("gpu")


def drawing(name, amount):
    draw = Draw(SOURCE, {"slices": Quantity.of(amount)})
    return Device(name=DeviceName(name), draws=(draw,), nodes=OnNode("n"))


POOL = Pool(
    id=PoolId("d", "n"),
    devices=(
        drawing("whole", 2),
        drawing("half-0", 1),
        drawing("half-1", 1),
        Device(
            name=DeviceName("shared"), capacity={CORE: Quantity.of(100)}, is_shareable=True, nodes=OnNode("n")
        ),
    ),
    sources={SOURCE: {"slices": Quantity.of(2)}},
    seen_from=(OnNode("n"),),
)
NAMES = [one.name for one in POOL.devices]
HELD = {"half": ("half-0", None), "part": ("shared", 60), "all": ("shared", None)}


class Both:
    """One pool, in a state's tables and in a ledger, with the same claims."""

    def __init__(self, held):
        state, self.ledger = ClusterState(), Ledger(POOL)
        state.set_pool(POOL)
        for number, key in enumerate(held):
            name, amount = HELD[key]
            share = None if amount is None else {CORE: Quantity.of(amount)}
            consumed = {} if share is None else {"d/core": share[CORE]}
            result = AllocatedDevice(
                "r", DeviceId("d", "n", name), share_id=None if share is None else "s", consumed=consumed
            )
            state.hold(AllocatedClaim(ref=ClaimRef("default", str(number)), results=(result,)))
            self.ledger.record(name, str(number), share)
        compiled = state.views.compiled(("d", "n"))
        self.places = {name: TablePlace(*compiled.find(name)) for name in NAMES}
        self.components = {one.component for one in self.places.values()}
        self.before = self.tables()

    def tables(self):
        return {one: (one.state, dict(one.consumed)) for one in self.components}


def step(name, amount):
    is_shared = name == "shared" and amount is not None
    return name, {CORE: Quantity.of(amount)} if is_shared else None


STEPS = st.builds(step, st.sampled_from(NAMES), st.sampled_from([None, 20, 40, 50, 100, 101]))
TAKE, BACK = False, True
TWENTY, EIGHTY = step("shared", 20), step("shared", 80)


@given(st.sets(st.sampled_from(sorted(HELD))), st.lists(st.tuples(STEPS, st.booleans()), max_size=12))
@example({"part"}, [(TWENTY, TAKE), (TWENTY, TAKE), (TWENTY, TAKE)])
@example(set(), [(TWENTY, TAKE), (TWENTY, TAKE), (TWENTY, BACK), (EIGHTY, TAKE), (TWENTY, TAKE)])
@example(set(), [(TWENTY, TAKE), (TWENTY, TAKE), (TWENTY, BACK), (step("shared", None), TAKE)])
@example(set(), [(TWENTY, TAKE), (TWENTY, BACK), (step("shared", None), TAKE), (TWENTY, TAKE)])
def test_tables_and_ledgers_take_and_give_back_alike(held, moves):
    both, taken = Both(sorted(held)), []
    on_tables, on_ledger = Trial("t"), Trial("t")
    for (name, share), gives_back in moves:
        if gives_back and taken:
            back, its_share = taken.pop(0)
            on_tables.give_back([(both.places[back], its_share)])
            on_ledger.give_back([(LedgerPlace(both.ledger, back), its_share)])
            continue
        found = on_tables.take([(both.places[name], share)])
        assert found == on_ledger.take([(LedgerPlace(both.ledger, name), share)])
        if found:
            taken.append((name, share))
    assert both.tables() == both.before


@given(st.sets(st.sampled_from(sorted(HELD))), STEPS)
def test_what_is_admitted_and_in_use_is_the_same(held, asked):
    both, (name, share) = Both(sorted(held)), asked
    ledger_place = LedgerPlace(both.ledger, name)

    assert admits(both.places[name], share) == admits(ledger_place, share)
    assert is_in_use(both.places[name]) == is_in_use(ledger_place)


@given(st.lists(STEPS, max_size=5))
def test_several_are_taken_together_or_not_at_all(steps):
    both, trial = Both(()), Trial("t")
    takes = [(both.places[name], share) for name, share in steps]

    is_taken = trial.take(takes)

    alone = Trial("t")
    assert is_taken == all(alone.take([one]) for one in takes)
    if not is_taken:
        for name, share in (step(name, 100) for name in NAMES):
            single = [(both.places[name], share)]
            assert trial.take(single) == Trial("t").take(single)
            if admits(both.places[name], share):
                trial.give_back(single)
