"""Processes that are killed, and two at once: ``many_kills.py``, run once with 500 kills and 200 pairs."""

from pathlib import Path

import pytest
from processes import linux_only

from tests.ledger import many_kills

# A forked process makes one release and ends: it asks nothing of threads that are not there.
pytestmark = [linux_only, pytest.mark.filterwarnings("ignore:This process .* is multi-threaded")]


def test_a_few_random_kills_and_a_pair(tmp_path: Path, rng) -> None:
    found = many_kills.kill_at_random(tmp_path / "r", 3, int(rng.integers(2**32)))
    assert found.get("killed", 0) + found.get("ended before", 0) == 3
    assert many_kills.pairs_at_once(tmp_path / "p", 1) == {"one released, one refused": 1}


@pytest.mark.slow
def test_a_kill_before_a_change_of_a_file_leaves_ledger_and_folder_consistent(tmp_path: Path) -> None:
    found = many_kills.kill_at_every_boundary(tmp_path, every=3)
    # Each state is passed through, so each kind of boundary was there: of the transaction, the folder, the
    # confirmation.
    assert set(found) == {"nothing spent", "spent, no folder", "written, not confirmed", "released"}
