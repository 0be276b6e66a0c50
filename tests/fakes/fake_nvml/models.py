"""The shipped GPU models, raw: with NVML's constants and the compute profiles that our values leave out."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any


def shipped_models() -> dict[str, dict[str, Any]]:
    """Return each model's file by product name."""
    folder = resources.files("agent.hardware.simulated") / "models"
    files = [json.loads(file.read_text()) for file in folder.iterdir() if file.name.endswith(".json")]
    return {model["product_name"]: model for model in files if "product_name" in model}
