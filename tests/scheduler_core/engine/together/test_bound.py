"""The question about a group ends after so many questions to the engine that a caller may wait for it."""

from scheduler_core.engine.engine import Engine
from scheduler_core.engine.policy.policies import best_fit
from scheduler_core.engine.together.decide import decide_together
from scheduler_core.engine.together.values import GroupMember
from scheduler_core.model.cluster import Cluster
from scheduler_core.model.result import Undecided
from scheduler_core.state.testing import ANY, DRIVER, claim, device, held, pool, request


def members_of_many_shapes(count):
    """Members that want one, two or three devices with ever higher numbers."""
    for number in range(count):
        wanted = request(
            "r", f"device.attributes['{DRIVER}'].number <= {2 + number % 20}", count=1 + number % 3
        )
        yield GroupMember(id=f"m{number}", claims=(claim(wanted, name=f"c{number}"),))


class Counted(Engine):
    """An engine that counts what it is asked."""

    questions = 0

    def fits(self, claims, node):
        self.questions += 1
        return super().fits(claims, node)


def test_a_group_of_many_shapes_that_does_not_fit_is_left_undecided_after_a_few_hundred_questions():
    names = [f"n{number}" for number in range(10)]
    pools = [
        pool(*(device(f"d{number}", attributes={"number": number}) for number in range(8)), node=name)
        for name in names
    ]
    in_use = [held(f"d{number % 8}", by=name, pool_name=name) for number, name in enumerate(names)]
    cluster = Cluster(pools=tuple(pools), classes={"any": ANY}, allocated=tuple(in_use))
    engine = Counted.of(cluster, best_fit())

    answer = decide_together(engine, list(members_of_many_shapes(60)), Free())

    assert isinstance(answer, Undecided)
    assert 100 < engine.questions < 600


class Free:
    """Room for any number of members."""

    def admits(self, member, node):
        return True

    def take(self, member, node):
        return None

    give = take
