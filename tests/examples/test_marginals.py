"""The marginals example: its files ask for the tables that they say, and every command takes them."""

import csv
import itertools
import json
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tolerances
from command_line import called

from mmopt.data import data_vector
from mmopt.mechanism.release_folder import ANSWERS_FILE
from mmopt.request import load_request
from mmopt.testing.census_workloads import marginals

FOLDER = Path(__file__).parents[2] / "examples" / "marginals"
SURVEY, ADULT = FOLDER / "workload.yaml", FOLDER / "adult.yaml"


def run(*arguments: object) -> str:
    result = called(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_files_ask_for_all_marginals() -> None:
    workload = load_request(SURVEY).workload
    assert workload.domain.shape == (2, 5, 16, 20, 75) and workload.n == 240_000
    assert (len(workload.blocks), workload.m) == (16, 3926)
    assert "16 tables, 3,926 queries" in SURVEY.read_text(encoding="utf-8")
    other = marginals(workload.domain.shape, [0, 1, 2])
    x = np.random.default_rng(0).integers(0, 100, workload.n).astype(float)
    np.testing.assert_array_equal(workload.answers(x), other.answers(x))
    adult = load_request(ADULT).workload
    assert adult.domain.shape == (100, 100, 100, 99, 85, 42, 16, 15, 9, 7, 6, 5, 2, 2)
    assert len(adult.blocks) == 470 and adult.has_all_targets and math.log10(adult.n) > 17.8
    sets = [own for way in range(4) for own in itertools.combinations(adult.domain.shape, way)]
    assert adult.m == sum(map(math.prod, sets)) == 21_043_262


def test_check() -> None:
    assert run("check", SURVEY).startswith(f"{SURVEY}: 3,926 queries over 240,000 cells\n")
    shown = run("check", ADULT)
    assert shown.startswith(f"{ADULT}: 21,043,262 queries over 641,263,392,000,000,000 cells\n")
    (more,) = (line.split() for line in shown.splitlines() if line.startswith("…"))
    assert more[:3] == ["…", "420", "more"]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("file", "options", "program", "value", "components"),
    [
        (SURVEY, ("--program", "l2_strategy"), "l2_strategy", 23560.71, 16),
        (ADULT, (), "fitness_for_use", 253.60516, 470),
        (ADULT, ("--program", "l2_strategy"), "l2_strategy", 2393511054.73, 470),
    ],
)
def test_solve_and_verify(
    file: Path, options: tuple[str, ...], program: str, value: float, components: int, tmp_path: Path
) -> None:
    path = tmp_path / "solution.npz"
    record = json.loads(run("solve", file, *options, "--json", "--out", path))
    assert record["program"] == program and record["gap"] <= tolerances.GAP_INTERIOR
    assert record["objective"] == pytest.approx(value, rel=tolerances.PUBLISHED)
    assert record["components"] == {"orbits": 1, "components": components, "largest": 1}
    assert "checks hold" in run("verify", path, file)


@pytest.mark.slow
def test_a_release(tmp_path: Path) -> None:
    """On a generated survey: every answer beside the truth, in units of its own error."""
    survey = tmp_path / "survey.csv"
    subprocess.run([sys.executable, FOLDER / "population.py", "5000", survey], check=True)
    shown = run("release", SURVEY, survey, "--simulate", "7", "--out", tmp_path / "out")
    assert "3,926 answers" in " ".join(shown.split())
    with (tmp_path / "out" / ANSWERS_FILE).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    estimates = np.array([float(row["estimate"]) for row in rows])
    errors = np.array([float(row["standard_error"]) for row in rows])
    workload = load_request(SURVEY).workload
    z = (estimates - workload.answers(data_vector(survey, workload.domain).counts)) / errors
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25 and np.abs(z).max() < 12.0  # Laplace noise
