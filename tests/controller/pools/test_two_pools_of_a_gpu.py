"""A GPU in the pool of its node and in one of two nodes: never two holders, whatever happens when."""

from gpu_pools import POOL, Site, example, gpu, holding
from hypothesis import example as such_as
from hypothesis import given
from hypothesis import strategies as st

from controller.pools.own_gpus import SETTLE_S
from scheduler_core.codec.members import members_of


class World(Site):
    """One GPU, an agent that hears late, and a scheduler that writes late what it decided."""

    def __init__(self):
        super().__init__()
        self.offered, self.decided, self.heard = True, [], {}
        self.agent()
        self.put(example())

    def agent(self):
        """Have the agent hear the slices, and publish what they leave."""
        self.offered = not members_of(self.server.documents())
        self.withhold(*([gpu(0), gpu(1)] if self.offered else []))

    def decide(self, pool):
        """Let a scheduler choose the GPU in one of the pools, if it is published there and seems free."""
        held = {*self.in_use.allocated, *self.in_use.unseen, *(decided for _, decided in self.decided)}
        is_free = pool not in held  # it knows no other pool that has the GPU
        is_there = self.offered if pool == "node-1" else self.is_open()
        if is_free and is_there:
            self.decided.append((self.now, pool))

    def write(self):
        """Have the scheduler write what it decided."""
        for _, pool in self.decided:
            device_name = "gpu-0" if pool == "node-1" else "four-gpus"
            self.in_use.unseen[f"{pool}"] = holding(pool, device_name, name=pool)
        self.decided.clear()

    def go_on(self, seconds):
        """Let time pass; a decision is written within what is waited for."""
        self.now += seconds
        if any(self.now - at >= SETTLE_S for at, _ in self.decided):
            self.write()


STEPS = {
    "agent": lambda world: world.agent(),
    "turn": lambda world: world.turn(),
    "second": lambda world: world.go_on(1),
    "instant": lambda world: world.go_on(SETTLE_S / 2),
    "decide node": lambda world: world.decide("node-1"),
    "decide pool": lambda world: world.decide(POOL),
    "write": lambda world: world.write(),
    "hear": lambda world: world.in_use.refresh(),
    "release": lambda world: world.in_use.allocated.clear(),
    "delete": lambda world: world.delete() if world.objects else None,
}


OPENED = ["turn", "agent", "turn", "second", "second", "second", "turn"]


TWO = ["second"] * 2


def after(*steps):
    return [*OPENED, *steps]


@such_as(["turn", "decide node", "agent", "turn", "decide pool", "write"])
@such_as(["turn", "decide node", "write", *OPENED, "decide pool", "write"])
@such_as(after("decide pool", "delete", "turn", "agent", "decide node", "write"))
@such_as(after("delete", "turn", "second", "decide pool", *TWO, "turn", "agent", "decide node", "write"))
@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=60))
def test_no_gpu_is_held_in_two_pools_whatever_happens_when(steps):
    world = World()
    for step in steps:
        STEPS[step](world)
        if world.server.finalizers.get("gpus") == () and world.objects:
            world.objects.clear()  # the server lets the object go with its last finalizer
        holders = {*world.in_use.allocated, *world.in_use.unseen}
        assert len(holders) <= 1, steps
