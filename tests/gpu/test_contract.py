"""A real GPU keeps the contract that the simulated ones keep, as far as reading goes."""

import pytest
from gpu_contract.reading import *  # noqa: F403

pytestmark = pytest.mark.gpu
