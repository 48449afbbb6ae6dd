"""One seed for the whole run: fresh each time, printed, and repeated with MMOPT_SEED."""

from __future__ import annotations

import os
import zlib

import numpy as np
import pytest
from hypothesis import settings

SEED = "MMOPT_SEED"

# A machine that is busy is no reason for a test to fail.
settings.register_profile("mmopt", deadline=None)
settings.load_profile("mmopt")


def pytest_configure() -> None:
    # In the environment, so that the workers of pytest-xdist share it.
    os.environ.setdefault(SEED, str(np.random.SeedSequence().generate_state(1)[0]))


def pytest_report_header() -> str:
    return f"{SEED}={os.environ[SEED]}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the run's seed and on the test alone, not on the order of tests."""
    seed = int(os.environ[SEED])
    request.node.add_report_section("setup", "random numbers", f"repeat with {SEED}={seed}")
    return np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])
