"""The sf1-like example: the file asks what the tests' census workload asks, and every command takes it."""

import csv
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tolerances
from command_line import called

from mmopt import Solution, Workload, solve, verify
from mmopt.data import data_vector
from mmopt.language import Program, evaluate
from mmopt.mechanism.release_folder import ANSWERS_FILE
from mmopt.numerics.split_arrays import Level, Split
from mmopt.request import load_request, parse_request
from mmopt.strategies import ComponentStrategy
from mmopt.symmetry import symmetry
from mmopt.testing.census_workloads import census

FILE = Path(__file__).parents[2] / "examples" / "sf1-like" / "workload.yaml"


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load_request(FILE).workload


@pytest.fixture(scope="module")
def solved(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    """What ``mmopt solve`` prints, and the file that it writes."""
    path = tmp_path_factory.mktemp("sf1") / "sf1.npz"
    return json.loads(run("solve", FILE, "--program", "l2_strategy", "--json", "--out", path)), path


@pytest.fixture(scope="module")
def saved(solved: tuple[dict[str, Any], Path]) -> tuple[Solution, Path]:
    return Solution.load(solved[1]), solved[1]


def run(*arguments: object) -> str:
    result = called(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """What a command line that fails says."""
    result = called(*arguments)
    assert result.exit_code == 2
    return result.stderr


def test_the_file_asks_for_the_census_workload(workload: Workload) -> None:
    """Query by query, on random data; the two are written independently of each other."""
    other = census()
    assert (workload.m, workload.n) == (other.m, other.n) == (4151, 500_480)
    assert workload.domain.shape == other.domain.shape
    assert [rows for _, rows in workload.groups()] == [rows for _, rows in other.groups()]
    x = np.random.default_rng(0).integers(0, 100, workload.n).astype(float)
    np.testing.assert_array_equal(workload.answers(x), other.answers(x))


@pytest.mark.slow
def test_the_optimum(saved: tuple[Solution, Path]) -> None:
    solution, _ = saved
    assert solution.program == "l2_strategy"
    assert solution.bound is not None and solution.gap is not None
    assert 15050.83 < solution.bound <= solution.objective < 15051.4
    assert solution.gap <= 1e-6 and solution.error_gap <= 1.1e-6
    assert solution.error == pytest.approx(solution.objective, rel=tolerances.RECOMPUTED)
    assert solution.error_bound == solution.bound
    assert solution.rmse == pytest.approx(1.9042, rel=tolerances.PRINTED_3)
    assert 1.0 - tolerances.ROUNDING < solution.sensitivity <= 1.0
    assert solution.reductions == (
        "value symmetry: 500480 cells -> 400 orbits, 96 components of size up to 400",
    )
    assert dict(solution.rows())["not dense"] == (
        "strategy by component (400 orbits, 96 components of size up to 400); "
        "as a matrix 7544 × 500480 it would take 28.1 GiB"
    )


@pytest.mark.slow
def test_variances_of_the_queries(workload: Workload, saved: tuple[Solution, Path]) -> None:
    """All 4,151 of them; equal queries have the same, and they add up to the error."""
    solution, _ = saved
    assert isinstance(solution.strategy, ComponentStrategy)
    variances = solution.strategy.variances(workload)
    assert variances.shape == (4151,) and np.isfinite(variances).all()
    assert variances.sum() == pytest.approx(solution.error, rel=tolerances.RECOMPUTED)
    totals = [variances[rows.start] for name, rows in workload.groups() if name == "total"]
    assert len(totals) == 5 and np.ptp(totals) == 0.0


def test_the_singular_value_bound_and_the_identity(workload: Workload) -> None:
    found = symmetry(workload, False)
    assert found is not None
    root, cells = found.sources["workload.root"], found.cells
    assert isinstance(root, Split) and cells.sizes is not None
    program = Program.load("l2_strategy")
    assert program.objective is not None and program.certificate is not None
    uniform = Level(cells, np.ones(len(cells.sizes)))
    bound = evaluate(program.certificate.expr, {"W": root, "d": uniform})
    assert bound == pytest.approx(9079.62, rel=tolerances.PUBLISHED)
    identity = ComponentStrategy(
        Split(cells.abstract(cells.dims), cells, tuple(np.eye(d) for d in cells.dims))
    )
    # The components that are left out are not asked for, and would make all columns as long as they are.
    assert identity.mean_variance(workload) == pytest.approx(67.6525**2, rel=tolerances.PRINTED)


@pytest.mark.slow
def test_it_is_kept_and_verified(saved: tuple[Solution, Path], tmp_path: Path) -> None:
    solution, path = saved
    assert path.stat().st_size < 10_000_000
    assert Solution.load(solution.save(tmp_path / "again.npz")) == solution
    assert "all 16 checks hold" in run("verify", path, FILE)


@pytest.mark.slow
def test_the_privacy_cost_when_every_query_has_variance_1() -> None:
    text = FILE.read_text(encoding="utf-8").replace("subworkload: PL94", "max_variance: 1.0")
    text = text.replace("- product: {", "- max_variance: 1.0\n    product: {")
    workload = parse_request(text, "targets.yaml").workload
    assert workload.has_all_targets
    solution = solve(workload)
    assert solution.program == "fitness_for_use"
    assert solution.bound is not None
    assert 8.3327 < solution.bound <= solution.objective < 8.3367
    assert solution.gap is not None and solution.gap <= 1e-6
    assert solution.error_bound == pytest.approx(15050.845, rel=tolerances.PUBLISHED)
    assert isinstance(solution.strategy, ComponentStrategy)
    assert solution.strategy.variances(workload).max() == pytest.approx(1.0, rel=tolerances.RECOMPUTED)
    assert [str(row) for row in verify(solution, workload).failures] == []


# -- the command line


def test_check() -> None:
    assert run("check", FILE).startswith(f"{FILE}: 4,151 queries over 500,480 cells\n")


@pytest.mark.slow
def test_what_a_solve_would_take() -> None:
    shown = run("solve", FILE, "--dry-run")
    assert "components  value symmetry: 500480 cells -> 400 orbits, 96 components" in shown
    assert "dimensions  r = 3,112, n = 500,480\n" in shown
    record = json.loads(run("solve", FILE, "--dry-run", "--json"))
    (problem,) = record["problems"]
    assert problem["solver"] == "nuclear" and problem["refusal"] is None
    assert problem["components"].endswith("400 orbits, 96 components of size up to 400")
    for solver in problem["solvers"]:
        able = solver["name"] == "nuclear"
        assert solver["missing_cones"] or (solver["memory"] < problem["memory_limit"]) == able
    shown = run("show", "l2_strategy", "--workload", FILE)
    assert "components  value symmetry: 500480 cells" in shown


@pytest.mark.slow
def test_explain(saved: tuple[Solution, Path]) -> None:
    _, path = saved
    planned = " ".join(run("explain", "l2_strategy", FILE).split())
    assert "rank 3,112" in planned
    assert "value symmetry: 500480 cells -> 400 orbits, 96 components of size up to 400" in planned
    assert "3,112 × 500,480" in planned and "workload.root" in planned
    assert "A kernel takes the program by component as it is, unscaled." in planned
    solved = json.loads(run("explain", "l2_strategy", FILE, "--solution", path, "--json"))["solved"]
    (line,) = solved["lines"]
    assert line["name"] == "sensitivity"
    assert "any relationship" in line["largest"][0][0]


@pytest.mark.slow
def test_solve_prints_and_saves(solved: tuple[dict[str, Any], Path], saved: tuple[Solution, Path]) -> None:
    record, _ = solved
    assert record["components"] == {"orbits": 400, "components": 96, "largest": 400}
    assert saved[0].objective == record["objective"]


@pytest.mark.slow
def test_a_release(workload: Workload, saved: tuple[Solution, Path], tmp_path: Path) -> None:
    """On a generated population: every answer beside the truth, in units of its own error."""
    people = tmp_path / "people.csv"
    subprocess.run([sys.executable, FILE.parent / "population.py", "5000", people], check=True)
    shown = run("release", FILE, people, "--strategy", saved[1], "--simulate", "7", "--out", tmp_path / "out")
    assert "4,151 answers" in " ".join(shown.split())
    with (tmp_path / "out" / ANSWERS_FILE).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    estimates = np.array([float(row["estimate"]) for row in rows])
    errors = np.array([float(row["standard_error"]) for row in rows])
    truth = workload.answers(data_vector(people, workload.domain).counts)
    assert truth[0] == 5000.0
    z = (estimates - truth) / errors
    # The answers hang together, so that their spread strays more than that of 4,151 alone would.
    assert 0.8 < np.sqrt(np.mean(z**2)) < 1.25 and np.abs(z).max() < 6.0
    assert np.sqrt(np.mean(errors**2)) == pytest.approx(11.173, rel=tolerances.PRINTED_3)
    totals = [estimates[rows.start] for name, rows in workload.groups() if name == "total"]
    assert np.ptp(totals) < 1e-6, "equal queries have equal answers"


@pytest.mark.slow
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_release_of_a_union_of_products(workload: Workload, tmp_path: Path, noise: str) -> None:
    """Everything by factors: rounding, measurement, least squares and errors."""
    people, file = tmp_path / "people.csv", tmp_path / "union.npz"
    subprocess.run([sys.executable, FILE.parent / "population.py", "5000", people], check=True)
    run("templates", FILE, "--noise", noise, "--templates", "union", "--out", file)
    assert "all 7 checks hold" in run("verify", file, FILE)
    out = tmp_path / "out"
    shown = " ".join(
        run("release", FILE, people, "--strategy", file, "--simulate", "7", "--out", out).split()
    )
    assert ("epsilon = 1, pure (delta = 0)" if noise == "laplace" else "at delta = 1e-10") in shown
    with (out / ANSWERS_FILE).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    estimates, errors, low, high = (
        np.array([float(row[name]) for row in rows]) for name in ("estimate", "standard_error", "low", "high")
    )
    truth = workload.answers(data_vector(people, workload.domain).counts)
    assert 0.8 < np.sqrt(np.mean(((estimates - truth) / errors) ** 2)) < 1.25
    assert np.mean((low <= truth) & (truth <= high)) > 0.9
    if noise == "laplace":  # HDMM: 5.17 at unit noise, times the deviation of Laplace noise at epsilon 1
        assert np.sqrt(np.mean(errors**2)) < 5.17 * np.sqrt(2.0)
    totals = [estimates[rows.start] for name, rows in workload.groups() if name == "total"]
    assert np.ptp(totals) < 1e-6, "equal queries have equal answers"


@pytest.mark.slow
def test_p_identity_at_this_size_is_refused(tmp_path: Path) -> None:
    pure = tmp_path / "pure.yaml"
    pure.write_text(FILE.read_text(encoding="utf-8").replace(", delta: 1.0e-10", ""), encoding="utf-8")
    people = tmp_path / "people.csv"
    subprocess.run([sys.executable, FILE.parent / "population.py", "10", people], check=True)
    message = refused("release", pure, people, "--program", "p_identity", "--out", tmp_path / "out")
    assert "error: 'p_identity' cannot be solved by component" in message
    assert not (tmp_path / "out").exists()


def test_what_else_is_refused_at_this_size() -> None:
    assert "'min_error' cannot be solved by component" in refused("solve", FILE, "--program", "min_error")


@pytest.mark.slow
def test_a_matrix_of_this_size_is_refused(saved: tuple[Solution, Path]) -> None:
    certified = refused("certify", FILE, saved[1])
    assert "error: the strategy matrix has 7,544 × 500,480 entries, 28.1 GiB" in certified


@pytest.mark.slow
def test_tuning_to_the_redistricting_queries() -> None:
    """The slides have 7.28, 16.45, 6.07 and 3.91 for Laplace noise; the table here is for Gaussian noise."""
    rows = json.loads(run("tune", FILE, "PL94", "--factors", "1,4", "--json"))
    assert [row["optimised"] for row in rows] == ["PL94 alone", "the rest alone", "everything", "PL94 × 4"]
    assert all(row["gap"] <= 1e-6 for row in rows)
    alone, rest, plain, more = (row["unit_rmse"] for row in rows)
    assert plain["everything"] == pytest.approx(1.9042, rel=tolerances.PRINTED_3)
    assert alone["PL94"] < more["PL94"] < plain["PL94"]
    assert rest["the rest"] < plain["the rest"] < more["the rest"]
