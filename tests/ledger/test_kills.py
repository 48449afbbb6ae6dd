"""Ledger and folder stay consistent when processes are killed, and two at once cannot spend the same.

``many_kills.py`` was run once with 500 kills and 200 pairs. It runs in an interpreter of its own: what it
forks must not share the threads that other tests started.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from processes import linux_only

pytestmark = linux_only
SCRIPT = Path(__file__).with_name("many_kills.py")
STATES = {"nothing spent", "spent, no folder", "written, not confirmed", "released"}


def ran(*arguments: object) -> dict[str, int]:
    root = SCRIPT.parents[2]
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


def test_a_few_random_kills_and_a_pair(tmp_path: Path, rng: np.random.Generator) -> None:
    found = ran("few", tmp_path, 3, int(rng.integers(2**32)))
    assert found["one released, one refused"] == 1
    assert found.get("killed", 0) + found.get("ended before", 0) == 3


@pytest.mark.parametrize("kind", ["boundaries", "upgrade"])
@pytest.mark.parametrize(
    ("every", "least"),
    [pytest.param(3, 1, marks=pytest.mark.slow), pytest.param(1, 5, marks=pytest.mark.nightly)],
)
def test_a_kill_before_a_change_of_a_file_leaves_both_consistent(
    tmp_path: Path, every: int, least: int, kind: str
) -> None:
    """Each state is passed through, so each kind of boundary was there: of transaction, folder and so on."""
    found = ran(kind, tmp_path, every)
    assert set(found) == STATES
    assert min(found[state] for state in STATES - {"released"}) >= least
