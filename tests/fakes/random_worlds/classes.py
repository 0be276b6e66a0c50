"""The classes in which kube-scheduler's allocator and ours differ, as rules. docs/semantics.md has reasons.

An error of upstream's names its rule. Any other difference belongs to a class if it goes away once the fact
that the two read differently is taken out of the world, and to several if it takes several to go.
"""

from copy import deepcopy
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from random_worlds import NODES, ZONE_A

ERRORS = {
    "is currently being updated": "E1",
    "a claim constraint would not be satisfied": "E2",
    "is currently invalid": "E3",
    "exceeds the claim limit": "E5",
    "CEL runtime error": "S",
}
SAME, CUT_OFF, UNCLASSIFIED = "same", "cut off", "unclassified"


@dataclass
class Sides:
    """Both allocators. Shape: from questions to answers in the form of ``tangram bench --input``."""

    theirs: Any
    ours: Any

    def differences(self, asked):
        """Yield the questions on which they differ, each with their answer, None where both agree."""
        for question, their, our in zip(asked, self.theirs(asked), self.ours(asked), strict=True):
            yield question, their, our, decision(their, question) == decision(our, question)


def classified(asked, sides):
    """Yield the name of each world and the class of its difference."""
    open_worlds = []
    for question, their, our, is_same in sides.differences(asked):
        if their["timed_out"] or our["timed_out"]:
            yield question["name"], CUT_OFF
        elif is_same:
            yield question["name"], SAME
        elif (label := by_error(question, their)) and not our.get("error"):
            yield question["name"], label
        else:
            open_worlds.append(question)
    trials = [
        (number, names, changed)
        for number, question in enumerate(open_worlds)
        for names, changed in neutralised(question)
    ]
    found = {}
    for (number, names, _), (_, their, our, is_same) in zip(
        trials, sides.differences([changed for _, _, changed in trials]), strict=True
    ):
        # An error that shows once the first fact is gone is a second class of the same world.
        second = None if is_same or our.get("error") else by_error(open_worlds[number], their)
        if is_same or second:
            label = "+".join([*names, *([second] if second else [])])
            found.setdefault(number, label)
    for number, question in enumerate(open_worlds):
        yield question["name"], found.get(number, UNCLASSIFIED)


def decision(answer, question):
    """Return what must be the same: per claim its devices, their shares and from where they can be used."""
    error = answer.get("error") or ""
    if "invalid resource pools were encountered" in error:
        error = ""  # it does not fit this node, and others are asked: class E4
    if error:
        return "error"
    if answer["unschedulable"] or not answer.get("results"):
        return None
    return [
        (
            sorted(map(_device, result["devices"].get("results", []))),
            repr(result.get("nodeSelector")),
        )
        for result in answer["results"]
    ]


def _device(result):
    consumed = sorted((result.get("consumedCapacity") or {}).items())
    return (*(result[key] for key in ("request", "driver", "pool", "device")), repr(consumed))


def by_error(question, their):
    """Return the class that an error of upstream names, None for any other answer."""
    error = their.get("error") or ""
    label = next((label for text, label in ERRORS.items() if text in error), None)
    return _selector_class(question, error) if label == "S" else label


def _selector_class(question, error):
    """S1: the device is of another node; S2: all devices are wanted; S3: too few match to be tried here."""
    place = error.partition(" on device ")[2].partition(":")[0]
    driver, pool, name = place.split("/")
    slices = [one for one in question["slices"] if _pool(one) == (driver, pool)]
    devices = [
        device
        for one in slices
        if one["spec"].get("perDeviceNodeSelection")
        for device in one["spec"].get("devices", [])
        if device["name"] == name
    ]
    if devices and not any(map(admits, devices)):
        return "S1"
    wants_all = any(option["allocationMode"] == "All" for option in _options(question))
    return "S2" if wants_all else "S3"


# What both read alike once it is gone


def neutralised(question):
    """Yield worlds without a fact that the two read differently, with the names of their classes."""
    steps = [(name, step) for name, step in STEPS.items() if step(question) is not None]
    for size in range(1, len(steps) + 1):
        for some in combinations(steps, size):
            changed = question
            for _, step in some:
                changed = step(changed) or changed
            yield tuple(name for name, _ in some), changed


def without_admin(question):
    """A1, A2, A4: what admin access takes. Here: the admin requests that are open to doubt are dropped."""
    if not any(option.get("adminAccess") for option in _options(question)):
        return None
    changed = deepcopy(question)
    for claim in changed["claims"]:
        spec = claim["spec"]["devices"]
        spec["requests"] = [one for one in spec["requests"] if not one.get("exactly", {}).get("adminAccess")]
        names = {one["name"] for one in spec["requests"]}
        constraints = []
        for one in spec.get("constraints", []):
            if "requests" in one:
                one["requests"] = [name for name in one["requests"] if name in names]
                if not one["requests"]:
                    continue
            constraints.append(one)
        spec["constraints"] = constraints
    changed["claims"] = [one for one in changed["claims"] if one["spec"]["devices"]["requests"]]
    return changed


def with_bare_names(question):
    """C: names of capacities with the driver's own domain. Here: without."""
    changed = deepcopy(question)
    drivers = {one["spec"]["driver"] for one in changed["slices"]}
    for one in changed["slices"]:
        for device in one["spec"].get("devices", []):
            if "capacity" in device:
                device["capacity"] = {_bare(key, drivers): at for key, at in device["capacity"].items()}
    for option in _options(changed):
        wanted = option.get("capacity")
        if wanted:
            wanted["requests"] = {_bare(key, drivers): at for key, at in wanted["requests"].items()}
    for one in changed["allocated"]["capacity"]:
        one["consumed"] = {_bare(key, drivers): at for key, at in one["consumed"].items()}
    return changed if changed != question else None


def without_repeated_names(question):
    """D: a name is listed twice in the pool, and the node sees one of the two. Here: the other goes."""
    changed, is_changed = deepcopy(question), False
    for one in changed["slices"]:
        spec = one["spec"]
        if not sees(spec):
            own = {device["name"] for device in spec.get("devices", [])}
            others = {
                device["name"]
                for other in changed["slices"]
                if other is not one and _pool(other) == _pool(one) and sees(other["spec"])
                for device in other["spec"].get("devices", [])
            }
            if own & others:
                spec["devices"] = [device for device in spec["devices"] if device["name"] not in others]
                is_changed = True
    return changed if is_changed else None


def without_binding_elsewhere(question):
    """B: binding conditions of a device that the node does not see, in a slice that it sees."""
    changed, is_changed = deepcopy(question), False
    for one in changed["slices"]:
        if one["spec"].get("perDeviceNodeSelection"):
            for device in one["spec"].get("devices", []):
                if "bindingConditions" in device and not admits(device):
                    del device["bindingConditions"], device["bindingFailureConditions"]
                    is_changed = True
    return changed if is_changed else None


def without_what_no_allocator_gives(question):
    """H: more is held than there is, a shareable device whole, or a share of an exclusive one.

    The last two come with a generation that lists a device otherwise. Here: nothing is held.
    """
    listed = {True: set(), False: set()}
    for one in question["slices"]:
        for device in one["spec"].get("devices", []):
            listed[device.get("allowMultipleAllocations", False)].add((*_pool(one), device["name"]))
    held = question["allocated"]
    is_otherwise = any(_place(one) in listed[True] for one in held["devices"]) or any(
        _place(one) in listed[False] for one in held["shared"]
    )
    if not is_otherwise and not _is_overdrawn(question):
        return None
    return question | {"allocated": {"devices": [], "shared": [], "capacity": []}}


STEPS = {
    "C": with_bare_names,
    "A": without_admin,
    "B": without_binding_elsewhere,
    "D": without_repeated_names,
    "H": without_what_no_allocator_gives,
}


def sees(spec):
    """Whether the node sees a slice: itself, or a device of it that selects nodes."""
    if spec.get("perDeviceNodeSelection"):
        return any(map(admits, spec.get("devices", [])))
    return admits(spec)


def admits(selecting):
    """Whether a slice or device is for the node that is asked."""
    name = NODES[0]["metadata"]["name"]
    return (
        selecting.get("nodeName") == name
        or "allNodes" in selecting
        or selecting.get("nodeSelector") == ZONE_A
    )


def _is_overdrawn(question):
    """Whether what is held draws more than there is, or may not be held together."""
    held = {_place(one) for kind in ("devices", "shared") for one in question["allocated"][kind]}
    drawn, groups = {}, {}
    totals = {}
    for one in question["slices"]:
        pool = _pool(one)
        for counters in one["spec"].get("sharedCounters", []):
            place = (pool, one["spec"]["pool"]["generation"], counters["name"])
            totals[place] = int(counters["counters"]["m"]["value"])
        for device in one["spec"].get("devices", []):
            if (*pool, device["name"]) in held:
                for draw in device.get("consumesCounters", []):
                    place = (pool, one["spec"]["pool"]["generation"], draw["counterSet"])
                    drawn[place] = drawn.get(place, 0) + int(draw["counters"]["m"]["value"])
                    groups.setdefault(place, []).append(frozenset(draw.get("compatibilityGroups", ())))
    if any(amount > totals.get(place, 0) for place, amount in drawn.items()):
        return True
    return any(any(some) and not frozenset.intersection(*some) for some in groups.values())


def _options(question):
    for claim in question["claims"]:
        for request in claim["spec"]["devices"]["requests"]:
            yield from [request["exactly"]] if "exactly" in request else request["firstAvailable"]


def _pool(one):
    return one["spec"]["driver"], one["spec"]["pool"]["name"]


def _place(one):
    return one["driver"], one["pool"], one["device"]


def _bare(key, drivers):
    domain, _, name = key.rpartition("/")
    return name if domain in drivers else key
