"""What hangs together is one component, however it is listed."""

from hypothesis import given
from hypothesis import strategies as st

from scheduler_core.model.device import Device, DeviceName, Draw, SourceName
from scheduler_core.tables.connected import connected

NAMES = [DeviceName(f"d{number}") for number in range(7)]
SOURCES = [SourceName(f"s{number}") for number in range(4)]
links = st.tuples(st.sets(st.sampled_from(NAMES), max_size=2), st.sets(st.sampled_from(SOURCES), max_size=2))


def spread(devices):
    """The components, found by looking again and again for something in common."""
    groups = [
        ({index}, {device.name, *device.parents, *[draw.source for draw in device.draws]})
        for index, device in enumerate(devices)
    ]
    while True:
        pair = next(
            ((a, b) for a in groups for b in groups if a is not b and not a[1].isdisjoint(b[1])), None
        )
        if pair is None:
            return sorted(sorted(members) for members, _ in groups)
        groups = [group for group in groups if group not in pair]
        groups.append((pair[0][0] | pair[1][0], pair[0][1] | pair[1][1]))


@given(st.lists(links, min_size=len(NAMES), max_size=len(NAMES)), st.booleans())
def test_components_are_what_parents_and_sources_connect(found, has_parents):
    devices = [
        Device(
            name=name,
            parents=tuple(sorted(parents - {name})) if has_parents else (),
            draws=tuple(Draw(source, {}) for source in sorted(sources)),
        )
        for name, (parents, sources) in zip(NAMES, found, strict=True)
    ]

    components = connected(devices)

    assert components == spread(devices)
