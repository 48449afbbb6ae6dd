"""The adaptive example: its files are the study's workloads, and the commands at their heads run."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from command_line import called
from examples.scripts import scripts

from mmopt import Workload
from mmopt.workloads.workload_variants import only

own = scripts("adaptive").workloads
FOLDER = Path(__file__).parents[2] / "examples" / "adaptive"
FOUR = (4, 4, 4, 4)

FILES: dict[str, Callable[[], Workload]] = {
    "cdf.yaml": lambda: own.cumulative(256),
    "marginals.yaml": lambda: own.k_way(FOUR, 2),
    "permuted-ranges.yaml": lambda: own.permuted_ranges(64, 0),
    "predicates.yaml": lambda: Workload.from_matrix(own.sampled_predicates(32, 32, 0)),
    "random-marginals.yaml": lambda: own.random_marginals(FOUR, 0),
    "random-ranges.yaml": lambda: own.random_ranges((8, 8), 0),
    "ranges.yaml": lambda: own.all_ranges((16, 16)),
}


@pytest.mark.parametrize("file", FILES)
def test_files_are_workloads_of_the_study(file: str) -> None:
    w, expected = Workload.load(FOLDER / file), FILES[file]()
    assert w.shape == expected.shape
    assert np.array_equal(w.gram, expected.gram)
    assert f"{w.m:,} queries" in " ".join(
        (FOLDER / file).read_text(encoding="utf-8").replace("#", "").split()
    )


def test_range_marginals_have_two_parts() -> None:
    w = Workload.load(FOLDER / "range-marginals.yaml")
    assert w.m == 2098
    for k in (1, 2):
        part, expected = only(w, f"{k}-way"), own.k_way((8, 8, 4), k, ranges=True)
        assert part.shape == expected.shape and np.array_equal(part.gram, expected.gram)


def test_every_file_is_known() -> None:
    assert {file.name for file in FOLDER.glob("*.yaml")} == {*FILES, "range-marginals.yaml"}
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert all(file in text for file in (*FILES, "range-marginals.yaml"))
    assert all(one.label in text for one in own.cases(2048) if one.part == "3")


@pytest.mark.parametrize("file", ["permuted-ranges.yaml", "random-ranges.yaml", "random-marginals.yaml"])
def test_the_commands_run(file: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER.parents[1])
    lines = (FOLDER / file).read_text(encoding="utf-8").splitlines()
    commands = [line.split()[2:] for line in lines if line.startswith("#   mmopt")]
    assert [command[0] for command in commands] == ["check", "solve"]
    for command in commands:
        result = called(*command)
        assert result.exit_code == 0, result.output
