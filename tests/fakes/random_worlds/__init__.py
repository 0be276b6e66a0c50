"""Random worlds of ``resource.k8s.io/v1``: pools, what is in use of them, and claims for one pod.

A world depends on its seed alone. It has what the API allows side by side, at any node selection: counters,
shareable devices with draws and request policies, groups, lists, taints, binding conditions, several pools of
several drivers and generations, held devices and shares; claims with alternatives, ``All``, admin access,
amounts, tolerations, constraints and selectors that fail on some device.
The form is that of ``tangram bench --input``, which hack/upstream-allocator reads too.
"""

from random import Random

FEATURES = [
    "DRAAdminAccess",
    "DRAConsumableCapacity",
    "DRADeviceBindingConditions",
    "DRADeviceCompatibilityGroups",
    "DRADeviceTaints",
    "DRAListTypeAttributes",
    "DRAPartitionableDevices",
    "DRAPrioritizedList",
    "DRAResourceClaimDeviceStatus",
]
DRIVERS = ["a.example.com", "b.example.com"]
NODES = [{"metadata": {"name": f"n{n}", "labels": {"zone": zone}}} for n, zone in ((1, "a"), (2, "b"))]
ZONE_A = {"nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}]}
PLACES = [{"nodeName": "n1"}, {"nodeName": "n2"}, {"allNodes": True}, {"nodeSelector": ZONE_A}]
CLASSES = [
    {"metadata": {"name": "any"}, "spec": {}},
    {
        "metadata": {"name": "shared"},
        "spec": {"selectors": [{"cel": {"expression": "device.allowMultipleAllocations == true"}}]},
    },
    {
        "metadata": {"name": "a-only"},
        "spec": {"selectors": [{"cel": {"expression": "device.driver == 'a.example.com'"}}]},
    },
]
KIND = "'kind' in device.attributes['{0}'] && device.attributes['{0}'].kind == '{1}'"
SELECTORS = [
    *(KIND.format(driver, kind) for driver in DRIVERS for kind in "xy"),
    "!('kind' in device.attributes['a.example.com']) || device.attributes['a.example.com'].kind != 'x'",
    "'m' in device.capacity['a.example.com'] && "
    "device.capacity['a.example.com'].m.compareTo(quantity('2')) >= 0",
]
FAILING = ["device.attributes['a.example.com'].kind == 'x'", "device.attributes['b.example.com'].kind == 'x'"]
MOST = 6  # devices that the claims of a world may want: both sides try every order


def world(seed):
    """Return the world of a seed, asked for the node n1."""
    return World(Random(f"world-{seed}")).question(f"world-{seed}")


class World:
    def __init__(self, chance):
        self.chance = chance
        self.slices = []
        self.listed = []  # pairs of a device and its driver and pool
        self.groups = self.rarely(6)
        self.alike = self.rarely(
            3
        )  # hardly anything distinguishes the devices: then much looks interchangeable
        self.usual_capacity = {}
        self.counters = {}  # what is left, by pool, set and counter

    def rarely(self, one_in):
        """True once in so many times."""
        return self.chance.randrange(one_in) == 0

    def question(self, name):
        for number in range(self.chance.choice([1, 1, 2, 2, 3])):
            self.pool(self.chance.choice(DRIVERS), f"p{number}")
        held = self.held()
        wanted = self.claims()
        self.chance.shuffle(self.slices)
        return {
            "name": name,
            "features": FEATURES,
            "slices": self.slices,
            "classes": CLASSES,
            "claims": wanted,
            "allocated": held,
            "node": NODES[0],
        }

    # Pools

    def pool(self, driver, name):
        generations = [self.chance.randint(1, 2)] if not self.rarely(8) else [1, 2]
        for generation in generations:
            self.generation(driver, name, generation)

    def generation(self, driver, name, generation):
        """Add the slices of one generation: all at one place, or each anywhere, or per device."""
        chance = self.chance
        sets = chance.choice([0, 0, 1, 1, 2] if not self.alike else [1, 1, 1, 2])
        usual = PLACES[0] if not self.rarely(5) else chance.choice(PLACES)
        is_mixed, is_delegated = self.rarely(8), self.rarely(5)
        specs = []
        if sets:
            counters = [
                {
                    "name": f"c{number}",
                    "counters": {"m": {"value": str(chance.randint(1, 6 if not self.alike else 3))}},
                }
                for number in range(sets)
            ]
            for one in counters:
                amount = int(one["counters"]["m"]["value"])
                self.counters[driver, name, one["name"]] = amount
            where = chance.choice([usual, usual, PLACES[2], {"perDeviceNodeSelection": True}])
            specs.append({**where, "sharedCounters": counters})
        number = 0
        for _ in range(chance.choice([1, 1, 2, 2, 3])):
            devices = []
            for _ in range(chance.randint(1, 4)):
                devices.append(self.device(driver, f"d{number}", sets))
                number += 1
            place = chance.choice(PLACES) if is_mixed else usual
            if is_delegated:
                devices = [one | chance.choice([usual, *PLACES]) for one in devices]
                place = {"perDeviceNodeSelection": True}
            specs.append({**place, "devices": devices})
            self.listed += [(one, driver, name) for one in devices]
        if self.rarely(30) and len(specs) > 1:
            specs[-1].setdefault("devices", []).append(
                {"name": "d0"} | ({"allNodes": True} if is_delegated else {})
            )
        count = len(specs) + (1 if self.rarely(20) else 0)
        names = chance.sample(range(10), len(specs))
        for spec, slice_number in zip(specs, names, strict=True):
            whole = {"name": name, "generation": generation, "resourceSliceCount": count}
            self.slices.append(
                {
                    "metadata": {"name": f"{driver}-{name}-g{generation}-s{slice_number}"},
                    "spec": {"driver": driver, "pool": whole, **spec},
                }
            )

    def device(self, driver, name, sets):
        chance, found = self.chance, {"name": name, "attributes": self.attributes()}
        if not self.rarely(3):
            found["capacity"] = self.capacity(driver)
        if self.rarely(3 if not self.alike else 2):
            found["allowMultipleAllocations"] = True
        elif "capacity" in found:
            found["capacity"] = {
                key: {"value": one["value"]} for key, one in found["capacity"].items()
            }  # the API allows policies on shareable devices only
        if sets and not self.rarely(4):
            used = chance.sample(range(sets), chance.randint(1, sets))
            found["consumesCounters"] = [self.draw(number) for number in sorted(used)]
        if self.rarely(10 if not self.alike else 20):
            effect = chance.choice(["NoSchedule", "NoExecute", "None"])
            found["taints"] = [{"key": "health", "value": "bad", "effect": effect}]
        if self.rarely(12):
            found |= {"bindingConditions": ["ready"], "bindingFailureConditions": ["lost"]}
        if self.rarely(15):
            found["bindsToNode"] = True
        return found

    def attributes(self):
        if self.alike and not self.rarely(6):
            return {"kind": {"string": "x"}}
        found = {}
        if not self.rarely(6):
            found["kind"] = {"string": self.chance.choice("xxy")}
        if not self.rarely(4):
            found["example.com/rail"] = self.chance.choice(
                [{"string": "a"}, {"string": "b"}, {"int": 1}, {"strings": self.chance.sample("abc", 2)}]
            )
        return found

    def draw(self, number):
        amount = self.chance.randint(0, 2) if not self.alike or self.rarely(6) else 1
        found = {"counterSet": f"c{number}", "counters": {"m": {"value": str(amount)}}}
        if self.groups and not self.rarely(3):
            found["compatibilityGroups"] = sorted(self.chance.sample("xyz", self.chance.randint(1, 2)))
        return found

    def capacity(self, driver):
        if self.alike and self.usual_capacity.get(driver) and not self.rarely(5):
            return self.usual_capacity[driver]
        chance = self.chance
        value = chance.randint(1, 4)
        key = f"{driver}/m" if self.rarely(10) else "m"
        found = {key: {"value": str(value)}}
        if self.rarely(2):
            found[key]["requestPolicy"] = self.policy(value)
        if self.rarely(4):
            found["k"] = {"value": "2"}
        self.usual_capacity[driver] = found
        return found

    def policy(self, value):
        chance = self.chance
        match chance.randrange(3):
            case 0:
                return {"default": str(chance.randint(1, value))}
            case 1:
                values = sorted(chance.sample(range(1, value + 1), chance.randint(1, value)))
                allowed = [str(one) for one in values]
                return {"default": chance.choice(allowed), "validValues": allowed}
            case _:
                least = chance.randint(1, value)
                bounds = {"min": str(least)}
                if self.rarely(2):
                    bounds["max"] = str(chance.randint(least, value))
                if self.rarely(2) and (step := chance.randint(1, 2)):
                    most = int(bounds.get("max", value))
                    bounds["step"] = str(step)
                    if "max" in bounds:
                        bounds["max"] = str(most - (most - least) % step)
                return {"default": str(least), "validRange": bounds}

    # What is in use

    def held(self):
        """Return what earlier claims hold: nothing that no allocator gives, but for a rare world."""
        devices, shared, capacity = [], [], []
        careless = self.rarely(40)
        seen = set()
        for one, driver, pool in self.listed:
            identity = (driver, pool, one["name"])
            if not self.rarely(5) or identity in seen:
                continue
            seen.add(identity)
            if not careless and not self.drawn(one, driver, pool):
                continue
            place = {"driver": driver, "pool": pool, "device": one["name"]}
            if not one.get("allowMultipleAllocations") or (careless and self.rarely(3)):
                devices.append(place)
                continue
            shared.append(place | {"shareID": f"00000000-0000-0000-0000-{len(shared):012d}"})
            consumed = {
                key: str(self.chance.randint(0, int(at["value"])))
                for key, at in one.get("capacity", {}).items()
            }
            if consumed:
                capacity.append(place | {"consumed": consumed})
        return {"devices": devices, "shared": shared, "capacity": capacity}

    def drawn(self, one, driver, pool):
        """Whether the device can be in use: the counters have enough, and it has no groups. Then it draws."""
        draws = one.get("consumesCounters", [])
        if any("compatibilityGroups" in draw for draw in draws):
            return False
        places = [((driver, pool, draw["counterSet"]), int(draw["counters"]["m"]["value"])) for draw in draws]
        if any(self.counters.get(place, 0) < amount for place, amount in places):
            return False
        for place, amount in places:
            self.counters[place] -= amount
        return True

    # Claims

    def claims(self):
        left, found = MOST, []
        for number in range(self.chance.choice([1, 1, 1, 2])):
            requests = []
            for index in range(self.chance.choice([1, 1, 2, 2, 3] if not self.alike else [2, 3, 3, 4])):
                if left > 0:
                    size = self.chance.choice([1, 1, 1, 2])
                    left -= size
                    requests.append(self.request(f"r{index}", size))
            spec = {"requests": requests}
            constraints = [
                self.constraint(requests)
                for _ in range(self.chance.choice([0, 0, 0, 1, 1, 2] if not self.alike else [0, 0, 0, 1]))
            ]
            if constraints and requests:
                spec["constraints"] = constraints
            found.append(
                {"metadata": {"namespace": "default", "name": f"c{number}"}, "spec": {"devices": spec}}
            )
        return found

    def request(self, name, size):
        if not self.rarely(5):
            return {"name": name, "exactly": self.option(size)}
        letters = "abc"[: self.chance.randint(2, 3)]
        return {
            "name": name,
            "firstAvailable": [{"name": letter} | self.option(size, is_sub=True) for letter in letters],
        }

    def option(self, size, *, is_sub=False):
        chance = self.chance
        found = {"deviceClassName": chance.choice(["any"] * 6 + ["shared", "a-only"])}
        found |= (
            {"allocationMode": "All"} if self.rarely(10) else {"allocationMode": "ExactCount", "count": size}
        )
        if self.rarely(3 if not self.alike else 8):
            texts = FAILING if self.rarely(6) else SELECTORS
            found["selectors"] = [{"cel": {"expression": chance.choice(texts)}}]
        if self.rarely(10) and not is_sub:
            found["adminAccess"] = True
        if self.rarely(4):
            key = f"{chance.choice(DRIVERS)}/m" if self.rarely(12) else "m"
            found["capacity"] = {"requests": {key: str(chance.randint(1, 3))}}
        if self.rarely(5):
            found["tolerations"] = [
                chance.choice([{"key": "health", "operator": "Exists"}, {"operator": "Exists"}])
            ]
        return found

    def constraint(self, requests):
        chance = self.chance
        kind = chance.choice(["matchAttribute", "matchAttribute", "distinctAttribute"])
        found = {kind: chance.choice(["example.com/rail", "a.example.com/kind", "b.example.com/kind"])}
        if requests and self.rarely(2):
            names = [one["name"] for one in requests]
            found["requests"] = chance.sample(names, chance.randint(1, len(names)))
        return found
