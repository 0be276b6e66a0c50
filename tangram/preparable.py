"""What the plugin would refuse of an allocation, in the plugin's words."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterable, Iterator, Sequence

from scheduler_core.frontends.configuration.check import allocated_problems, read_configs, unprepared_devices
from scheduler_core.model.claim import AllocatedClaim, Claim
from scheduler_core.model.names import DEFAULT_DRIVER
from scheduler_core.model.pool import Pool
from scheduler_core.model.result import Allocation
from tangram.errors import BadInput
from tangram.program.streams import complain


def driver_of(options: Namespace) -> str:
    """Return the driver whose configurations are judged."""
    return str(options.driver_name or DEFAULT_DRIVER)


def refuse_unreadable(claims: Iterable[Claim], driver: str) -> None:
    """Refuse claims with a wrong configuration. Raises: BadInput."""
    for claim in claims:
        names = [option.name for request in claim.requests for option in request.alternatives]
        for error in read_configs(claim.configs, driver, names).wrong.values():
            raise BadInput(f"claim {claim.ref}: {error}")


def refuse_unpreparable(found: Allocation, pools: Sequence[Pool], driver: str) -> None:
    """Refuse an allocation whose configuration the plugin refuses; warn of devices that it refuses.

    Raises: BadInput.
    """
    for claim in _allocated(found):
        for problem in allocated_problems(claim, driver, pools):
            raise BadInput(f"claim {claim.ref}: {problem}")
        for result, reason in unprepared_devices(claim, driver, pools):
            complain(f"claim {claim.ref}: device {result.device}: {reason}")


def refused_at_prepare(
    found: Allocation, held: AllocatedClaim | None, pools: Sequence[Pool], driver: str
) -> tuple[str, ...]:
    """Return what the plugin would refuse, as sentences: of ``held``, else of what was found."""
    claims = _allocated(found) if held is None else [held]
    return tuple(sentence for claim in claims for sentence in _refusals(claim, pools, driver))


def _refusals(claim: AllocatedClaim, pools: Sequence[Pool], driver: str) -> Iterator[str]:
    for problem in allocated_problems(claim, driver, pools):
        yield f"claim {claim.ref}: {problem}"
    for result, reason in unprepared_devices(claim, driver, pools):
        yield f"claim {claim.ref}: device {result.device}: {reason}"


def _allocated(found: Allocation) -> Iterator[AllocatedClaim]:
    for ref, results in found.results.items():
        yield AllocatedClaim(ref=ref, results=results, configs=found.configs.get(ref, ()))
