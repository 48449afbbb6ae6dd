"""Processes that are killed, and two at once: ``many_kills.py``, run once with 500 kills and 200 pairs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from processes import linux_only

SCRIPT = Path(__file__).with_name("many_kills.py")


def ran(*arguments: object) -> dict[str, int]:
    done = subprocess.run(
        [sys.executable, SCRIPT, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        cwd=SCRIPT.parent.parent.parent,
        env={**os.environ, "PYTHONPATH": str(SCRIPT.parent.parent.parent)},
    )
    assert done.returncode == 0, done.stderr
    found: dict[str, int] = json.loads(done.stdout)
    return found


@linux_only
def test_a_few_random_kills_and_pairs(tmp_path: Path) -> None:
    found = ran("few", tmp_path)
    assert found["one released, one refused"] == 2
    assert found.get("killed", 0) + found.get("ended before", 0) == 5


@linux_only
@pytest.mark.slow
def test_a_kill_before_every_change_of_a_file_leaves_ledger_and_folder_consistent(tmp_path: Path) -> None:
    found = ran("boundaries", tmp_path)
    # Each state is passed through, so each kind of boundary was there: of the transaction, the folder, the
    # confirmation.
    assert set(found) == {"nothing spent", "spent, no folder", "written, not confirmed", "released"}
    assert all(found[state] >= 5 for state in found if state != "released"), found
