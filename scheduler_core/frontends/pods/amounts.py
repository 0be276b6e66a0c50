"""The device amounts of a pod: which resource names may be combined, and how many devices they mean.

Amounts are percentages of a device; a GPU's memory is also given in bytes. Takes amounts by resource name;
returns one ``Ask`` per type. Source: Koordinator, apis/extension and the deviceshare plug-in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from scheduler_core.base.quantity import Quantity
from scheduler_core.base.quick_dataclass import dataclass
from scheduler_core.frontends.annotations.errors import InvalidPod
from scheduler_core.frontends.pods.hints import FPGA, RDMA, Exclusive, Hint, Strategy

WHOLE_GPUS: Final = "nvidia.com/gpu"
GPU_PERCENT: Final = "koordinator.sh/gpu"
CORE: Final = "koordinator.sh/gpu-core"
MEMORY: Final = "koordinator.sh/gpu-memory"
RATIO: Final = "koordinator.sh/gpu-memory-ratio"
SHARED: Final = "koordinator.sh/gpu.shared"
CARDS: Final = {RDMA: "koordinator.sh/rdma", FPGA: "koordinator.sh/fpga"}
_GPU_NAMES: Final = (WHOLE_GPUS, GPU_PERCENT, CORE, MEMORY, RATIO, SHARED)
NAMES: Final = (*_GPU_NAMES, *CARDS.values())
_COMBINATIONS: Final = tuple(
    frozenset(names)
    for names in (
        (WHOLE_GPUS,),
        (GPU_PERCENT,),
        (MEMORY,),
        (RATIO,),
        (CORE, MEMORY),
        (CORE, RATIO),
        (SHARED, MEMORY),
        (SHARED, RATIO),
        (SHARED, CORE, MEMORY),
        (SHARED, CORE, RATIO),
    )
)
Amounts = Mapping[str, int]
"""By resource name, never zero. Units: percent; ``WHOLE_GPUS`` and ``SHARED`` devices; ``MEMORY`` bytes."""


@dataclass(frozen=True, slots=True)
class Ask:
    """Devices of one type.

    Shape: ``count`` is None for all that match; ``per_device`` is the amount from each device, by resource
           name; ``is_shared`` where less than a whole GPU is asked for; ``is_exact`` where more devices than
           ``count`` are not allowed.
    """

    count: int | None
    per_device: Amounts
    is_shared: bool = False
    is_exact: bool = False


def read_amount(subject: str, field: str, name: str, value: Any) -> int:
    """Return one amount. Raises: InvalidPod for anything but a whole number that is not negative."""
    rule = "must be a whole number, not negative" if name != MEMORY else "must be a quantity of bytes"
    try:
        quantity = Quantity.parse(str(value))
    except ValueError:
        raise InvalidPod(subject, field, value, rule) from None
    if isinstance(value, bool) or quantity.nano < 0 or not quantity.is_whole:
        raise InvalidPod(subject, field, value, rule)
    return quantity.whole


def checked(subject: str, amounts: Amounts, hints: Mapping[str, Hint] | None = None) -> Amounts:
    """Return the amounts if they may be combined.

    Raises: InvalidPod with the resource, the amount and the rule.
    """
    names = {name for name in amounts if name in _GPU_NAMES}
    if not amounts:
        raise InvalidPod(subject, "requests", None, f"asks for no device; known: {', '.join(NAMES)}")
    if names and frozenset(names) not in _COMBINATIONS:
        sets = "; ".join(" + ".join(sorted(one)) for one in _COMBINATIONS)
        raise InvalidPod(subject, "requests", " + ".join(sorted(names)), f"must be one of: {sets}")
    _check_percentages(subject, amounts, hints or {})
    if SHARED in amounts:
        _check_shares(subject, amounts)
    elif RATIO in amounts and CORE in amounts and amounts[RATIO] > 100:
        _check_divides(subject, CORE, amounts[CORE], amounts[RATIO] // 100)
    return amounts


def _check_percentages(subject: str, amounts: Amounts, hints: Mapping[str, Hint]) -> None:
    """Refuse percentages above 100 that are no multiple of 100. A strategy gives the number another sense."""
    with_strategy = {CARDS[kind] for kind, hint in hints.items() if hint.strategy and kind in CARDS}
    percentages = {CARDS[RDMA], CARDS[FPGA], GPU_PERCENT, CORE, RATIO} - with_strategy
    for name in sorted(percentages & amounts.keys()):
        if amounts[name] > 100 and amounts[name] % 100 and SHARED not in amounts:
            raise InvalidPod(
                subject, f"requests {name}", amounts[name], "above 100 it must be a multiple of 100"
            )


def _check_shares(subject: str, amounts: Amounts) -> None:
    for name in (CORE, RATIO):
        if name in amounts:
            _check_divides(subject, name, amounts[name], amounts[SHARED])
            if amounts[name] > 100 * amounts[SHARED]:
                rule = f"is more than 100 for each of {SHARED}={amounts[SHARED]} devices"
                raise InvalidPod(subject, f"requests {name}", amounts[name], rule)


def _check_divides(subject: str, name: str, amount: int, parts: int) -> None:
    if amount % parts:
        raise InvalidPod(subject, f"requests {name}", amount, f"must be a multiple of the {parts} devices")


def normalized(amounts: Amounts) -> Amounts:
    """Return a GPU's amounts as percentages of core and memory, whatever resource names were used."""
    if WHOLE_GPUS in amounts:
        return {CORE: 100 * amounts[WHOLE_GPUS], RATIO: 100 * amounts[WHOLE_GPUS]}
    if GPU_PERCENT in amounts:
        return {CORE: amounts[GPU_PERCENT], RATIO: amounts[GPU_PERCENT]}
    return {name: amounts[name] for name in (SHARED, CORE, MEMORY, RATIO) if name in amounts}


def gpu_ask(amounts: Amounts) -> Ask | None:
    """Return the GPUs that a pod asks for, None for no GPU. Shape: ``amounts`` are ``checked``."""
    asked = dict(normalized(amounts))
    if not asked:
        return None
    ratio = asked.get(RATIO, 0)
    count = asked.pop(SHARED, 0) or (ratio // 100 if ratio > 100 else 1)
    # Bytes are rounded up, so that no device gives less than was asked for.
    per_device = {name: -(-amount // count) for name, amount in asked.items()}
    return Ask(count, per_device, is_shared=per_device.get(RATIO, 0) < 100, is_exact=True)


def card_ask(name: str, amount: int, hint: Hint) -> Ask:
    """Return how many NICs or FPGAs an amount means: by the strategy, else by multiples of 100."""
    resource = CARDS[name]
    whole = hint.exclusive is Exclusive.DEVICE
    match hint.strategy:
        case Strategy.APPLY_FOR_ALL:
            return Ask(None, {resource: max(amount, 100) if whole else amount})
        case Strategy.REQUESTS_AS_COUNT:
            return Ask(amount, {resource: 100 if whole else 1}, is_exact=True)
        case None:
            count = amount // 100 if amount > 100 else 1
            return Ask(count, {resource: 100 if whole else min(amount, 100)})


def filled(given: Amounts, total: Amounts) -> Amounts:
    """Return the amounts from a GPU with its memory both in bytes and in percent.

    Raises: ValueError where the GPU has no total of memory.
    """
    if (MEMORY in given) == (RATIO in given):
        return given
    if not total.get(MEMORY):
        raise ValueError(f"{RATIO} has no size on a GPU without a total of {MEMORY}")
    if RATIO in given:
        return {**given, MEMORY: given[RATIO] * total[MEMORY] // 100}
    return {**given, RATIO: given[MEMORY] * 100 // total[MEMORY]}
