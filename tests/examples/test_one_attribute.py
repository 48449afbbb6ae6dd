"""The one-attribute example: the commands at its head, and the figures that it states."""

from pathlib import Path

import numpy as np
import pytest
from command_line import called

from mmopt import Solution, Strategy
from mmopt.request import load_request

FILE = Path(__file__).parents[2] / "examples" / "one-attribute" / "workload.yaml"


def run(*arguments: object) -> str:
    result = called(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def commands() -> list[list[str]]:
    """The lines at the head of the file, without ``mmopt``."""
    lines = [line.removeprefix("#").split() for line in FILE.read_text(encoding="utf-8").splitlines()]
    return [line[1:] for line in lines if line[:1] == ["mmopt"]]


@pytest.mark.slow
def test_the_commands_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = commands()
    assert [line[0] for line in found] == ["check", "solve", "verify", "explain", "solve"]
    for line in found[:-1]:
        run(*[FILE if part.endswith("workload.yaml") else part for part in line])
    solution = Solution.load(tmp_path / "income.npz")
    assert solution.program == solution.solver == "p_identity"
    assert f"{solution.rmse:.2f}" == "5.18"


def test_the_cells_alone() -> None:
    workload = load_request(FILE).workload
    assert (workload.m, workload.n) == (256, 256)
    alone = Strategy(np.eye(256), 1)
    assert f"{np.sqrt(alone.mean_variance(workload)):.2f}" == "11.34"
