"""One seed for the whole run, printed: the same for everybody, or MMOPT_SEED; ``fresh`` draws one.

The seed is fixed, so that a failure after installing points at the installation. Whoever changes the package
looks for new failures with ``MMOPT_SEED=fresh``.
"""

from __future__ import annotations

import os
import signal
import threading
import zlib
from pathlib import Path

# Before numpy is loaded: the matrices of tests are small, and threads that wait for each other take longer.
os.environ.setdefault("OMP_NUM_THREADS", "1")
# Tests hold texts of tables that are 80 columns wide; a shell may export the width of its own window.
os.environ["COLUMNS"] = "80"

import numpy as np
import pytest
from hypothesis import settings

SEED = "MMOPT_SEED"
USUAL_SEED = "20261123"
QUICK = "quick and not slow and not nightly"

# A machine that is busy is no reason for a test to fail.
settings.register_profile(
    "mmopt", deadline=None, max_examples=50, derandomize=os.environ.get(SEED, USUAL_SEED) == USUAL_SEED
)
settings.load_profile("mmopt")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip, with ``-m quick``, files without a quick test are not imported; importing takes most of the
    time."""
    if config.option.markexpr != QUICK or collection_path.suffix != ".py":
        return None
    return True if "mark.quick" not in collection_path.read_text(encoding="utf-8") else None


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """``@pytest.mark.draws(5)``: a test is taken five times, each with random numbers of its own."""
    for mark in metafunc.definition.iter_markers("draws"):
        metafunc.fixturenames.append("draw")
        metafunc.parametrize("draw", range(*mark.args))


def pytest_configure(config: pytest.Config) -> None:
    # A shell ignores Ctrl-C for what it runs in the background; tests press it.
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers",
        "some(n, parameter): n of its cases, or of those of each value of a parameter, are taken, "
        "drawn by the seed; as many more are slow tests, the rest nightly ones",
    )
    # Some cases of a slow or quick test are nightly.
    config.option.markexpr = {"quick": QUICK, "slow": "slow and not nightly"}.get(
        config.option.markexpr, config.option.markexpr
    )
    # In the environment, so that the workers of pytest-xdist share it.
    if os.environ.setdefault(SEED, USUAL_SEED) == "fresh":
        os.environ[SEED] = str(np.random.SeedSequence().generate_state(1)[0])


@pytest.hookimpl(tryfirst=True)  # before tests are left out by their marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """``@pytest.mark.some(9)``: nine of the cases are drawn, nine others are marked slow, the rest nightly
    (``rest="slow"``: slow, too, where wrong edits need each of them).

    ``@pytest.mark.some(1, "form")``: one of the cases of each form, and another one.
    """
    cases: dict[tuple[str, ...], list[pytest.Item]] = {}
    for item in items:
        mark = item.get_closest_marker("some")
        if (
            mark is not None
            and not item.get_closest_marker("slow")
            and not item.get_closest_marker("nightly")
        ):
            values = (str(item.callspec.params[parameter]) for parameter in mark.args[1:])
            cases.setdefault((item.nodeid.partition("[")[0], *values), []).append(item)
    for group, found in cases.items():
        (mark,) = found[0].iter_markers("some")
        drawn = np.random.default_rng([int(os.environ[SEED]), zlib.crc32(" ".join(group).encode())])
        for place, i in enumerate(drawn.permutation(len(found))):
            if place >= mark.args[0]:
                rest = mark.kwargs.get("rest", "nightly")
                found[i].add_marker("slow" if place < 2 * mark.args[0] else rest)


def pytest_report_header() -> str:
    return f"{SEED}={os.environ[SEED]}"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> np.random.Generator:
    """Random numbers that depend on the run's seed and on the test alone, not on the order of tests."""
    seed = int(os.environ[SEED])
    request.node.add_report_section("setup", "random numbers", f"repeat with {SEED}={seed}")
    return np.random.default_rng([seed, zlib.crc32(request.node.nodeid.encode())])
