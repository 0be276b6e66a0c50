"""The minimal files of tests/data/kube_scheduler as questions that both allocators can be asked."""

from pathlib import Path

import yaml

from random_worlds import FEATURES

FOLDER = Path(__file__).resolve().parents[2] / "data/kube_scheduler"


def question(name, node):
    """Return a file as a question about one of its nodes, with what the API server would fill in."""
    by_kind = {}
    for document in yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text()):
        by_kind.setdefault(document["kind"], []).append(document)
    claims = by_kind["ResourceClaim"]
    held = [result for claim in claims for result in _results(claim)]
    shares = [one for one in held if "shareID" in one]
    return {
        "name": name,
        "features": FEATURES,
        "slices": [_stored(one) for one in by_kind["ResourceSlice"]],
        "classes": [_stored(one) for one in by_kind["DeviceClass"]],
        "claims": [_defaulted(_stored(one)) for one in claims if "status" not in one],
        "allocated": {
            "devices": [_place(one) for one in held if "shareID" not in one],
            "shared": [_place(one) | {"shareID": one["shareID"]} for one in shares],
            "capacity": [
                _place(one) | {"consumed": one["consumedCapacity"]}
                for one in shares
                if "consumedCapacity" in one
            ],
        },
        "node": {"metadata": {"name": node}},
    }


def _results(claim):
    return claim.get("status", {}).get("allocation", {}).get("devices", {}).get("results", [])


def _place(result):
    return {key: result[key] for key in ("driver", "pool", "device")}


def _stored(one):
    return {key: one[key] for key in ("metadata", "spec")}


def _defaulted(claim):
    for request in claim["spec"]["devices"]["requests"]:
        for option in [request["exactly"]] if "exactly" in request else request["firstAvailable"]:
            if option.setdefault("allocationMode", "ExactCount") == "ExactCount":
                option.setdefault("count", 1)
    return claim
