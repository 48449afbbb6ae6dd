"""``mmopt budget``: the least budget, and what it is spent on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

TEXT = """\
domain: {sex: {values: [F, M]}}
workload:
  - {marginal: [sex], within: WITHIN}
privacy: {epsilon: 1.0, delta: 0.01}
neighbours: NEIGHBOURS
"""


@pytest.mark.parametrize("neighbours", ["add-remove", "replace-one"])
def test_the_file_says_the_kind_of_budget(run: Any, tmp_path: Path, neighbours: str) -> None:
    file = tmp_path / "wishes.yaml"
    file.write_text(TEXT.replace("WITHIN", "20").replace("NEIGHBOURS", neighbours))
    for options, delta in ((), 0.01), (("--pure",), 0.0), (("--delta", "1e-6"), 1e-6):
        said = json.loads(run("budget", file, *options, "--json").out)
        assert (said["unit"], said["neighbours"]) == ("epsilon", neighbours)
        # With a delta Laplace noise, which needs none, may be the better one.
        assert said["delta"] in {delta, 0.0}


def test_what_delta_alone_covers_costs_nothing_and_saves_nothing(run: Any, tmp_path: Path) -> None:
    file = tmp_path / "wishes.yaml"
    file.write_text(TEXT.replace("WITHIN", "1.0e+6").replace("NEIGHBOURS", "add-remove"))
    done = run("budget", file)
    assert done.status == 0 and "epsilon = 0 at delta 0.01" in done.out
    queries = [line for line in done.out.splitlines() if line.startswith("sex=")]
    assert len(queries) == 2 and all(line.endswith("50.0 %           ≤ 0.0 %") for line in queries)
