"""The files of examples/marginals, one-attribute, relative-error and sf1-like ask for what they say.

Their commands reach the figures that are stated.
"""

import csv
import itertools
import json
import math
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import tolerances
from command_line import called
from named_workloads import census

from mmopt import Privacy, Solution, Strategy, Workload, data_vector, load_request, plan, solve, verify
from mmopt.language import Program, evaluate
from mmopt.mechanism.measured_and_simulated_releases import simulate_errors
from mmopt.mechanism.release_writing import ANSWERS_FILE
from mmopt.numerics.component_arrays import Level, Split
from mmopt.request import parse_request
from mmopt.strategies import ComponentStrategy
from mmopt.symmetry import symmetry
from mmopt.testing.problem_registry import marginals
from tests.examples.scripts import EXAMPLES

SURVEY, ADULT = EXAMPLES / "marginals" / "workload.yaml", EXAMPLES / "marginals" / "adult.yaml"
INCOME = EXAMPLES / "one-attribute" / "workload.yaml"
ERRORS = EXAMPLES / "relative-error"
SF1 = EXAMPLES / "sf1-like" / "workload.yaml"
EPSILONS = (0.1, 0.5, 1.0, 2.5)


def run(*arguments: object) -> str:
    result = called(*arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def refused(*arguments: object) -> str:
    """The message of a command line that fails."""
    result = called(*arguments)
    assert result.exit_code == 2
    return result.stderr


def commands(file: Path) -> list[list[str]]:
    """The command lines at the head of a file, without ``mmopt``, with the place of the file."""
    lines = [line.removeprefix("#").split() for line in file.read_text(encoding="utf-8").splitlines()]
    found = [line[1:] for line in lines if line[:1] == ["mmopt"]]
    return [[str(file) if part.endswith(file.name) else part for part in line] for line in found]


def population(folder: Path, rows: int, path: Path) -> Path:
    """A generated table."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "argv", ["population.py", str(rows), str(path)])
        runpy.run_path(str(folder / "population.py"), run_name="__main__")
    return path


def released(file: Path, people: Path, out: Path, *options: object) -> tuple[str, dict[str, np.ndarray]]:
    """Output of a simulated release; each column of the answers, and the truth."""
    shown = run("release", file, people, *options, "--simulate", "7", "--out", out)
    with (out / ANSWERS_FILE).open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines))
    columns = {
        name: np.array([float(row[name]) for row in rows])
        for name in ("estimate", "standard_error", "low", "high")
    }
    workload = load_request(file).workload
    columns["truth"] = workload.answers(data_vector(people, workload.domain).counts)
    columns["z"] = (columns["estimate"] - columns["truth"]) / columns["standard_error"]
    assert 0.8 < np.sqrt(np.mean(columns["z"] ** 2)) < 1.25
    return " ".join(shown.split()), columns


def test_the_files_of_marginals_ask_for_all() -> None:
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


def test_check_takes_all_sizes() -> None:
    assert run("check", SURVEY).startswith(f"{SURVEY}: 3,926 queries over 240,000 cells\n")
    shown = run("check", ADULT)
    assert shown.startswith(f"{ADULT}: 21,043,262 queries over 641,263,392,000,000,000 cells\n")
    (more,) = (line.split() for line in shown.splitlines() if line.startswith("…"))
    assert more[:3] == ["…", "420", "more"]


def test_marginals_are_solved_and_verified(tmp_path: Path) -> None:
    """So is adult.yaml in tests/record."""
    path = tmp_path / "solution.npz"
    record = json.loads(run("solve", SURVEY, "--program", "l2_strategy", "--json", "--out", path))
    assert record["gap"] <= tolerances.GAP_INTERIOR
    assert record["objective"] == pytest.approx(23560.71, rel=tolerances.PUBLISHED)
    assert record["components"] == {"orbits": 1, "components": 16, "largest": 1}
    assert "checks hold" in run("verify", path, SURVEY)


@pytest.mark.nightly
def test_a_release_of_marginals(tmp_path: Path) -> None:
    people = population(SURVEY.parent, 5000, tmp_path / "survey.csv")
    shown, columns = released(SURVEY, people, tmp_path / "out")
    assert "3,926 answers" in shown
    assert np.abs(columns["z"]).max() < 12.0  # Laplace noise


@pytest.mark.slow
def test_the_commands_of_one_attribute_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = commands(INCOME)
    assert [line[0] for line in found] == ["check", "solve", "verify", "explain", "solve"]
    for line in found[:-1]:
        run(*line)
    solution = Solution.load(tmp_path / "income.npz")
    assert solution.program == solution.solver == "p_identity"
    assert f"{solution.rmse:.2f}" == "5.18"


def test_the_cells_of_one_attribute_alone() -> None:
    workload = load_request(INCOME).workload
    assert (workload.m, workload.n) == (256, 256)
    alone = Strategy(np.eye(256), 1)
    assert f"{np.sqrt(alone.mean_variance(workload)):.2f}" == "11.34"


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return population(ERRORS, 30000, tmp_path_factory.mktemp("people") / "people.csv")


def stated(heading: str) -> dict[str, list[float]]:
    """The rows of the table below a line that starts so, by their first column."""
    text = (ERRORS / "README.md").read_text(encoding="utf-8")
    lines = text[text.index(heading) :].split("\n\n")[1].splitlines()[2:]
    rows = [[part.strip() for part in line.strip("|").split("|")] for line in lines]
    return {row[0]: [float(value) for value in row[1:]] for row in rows}


def expected(w: Workload, program: str, optimised: Workload, counts: np.ndarray) -> list[float]:
    """Mean relative errors in closed form, then the root mean square at ε = ½."""
    strategy = solve(optimised, program).strategy
    privacies = [Privacy(epsilon=e, delta=1e-4) for e in EPSILONS]
    plans = [plan(w, strategy, privacy) for privacy in privacies]
    found = simulate_errors(w, strategy, counts, plans, trials=2)
    means = [own.whole.expected for own in found]
    return [mean for mean in means if mean is not None] + [found[1].whole.predicted]


@pytest.mark.some(1)
@pytest.mark.parametrize(
    ("file", "heading"), [("ranges.yaml", "Ranges of age"), ("marginals.yaml", "Counts by one")]
)
def test_relative_errors_are_those_stated(people: Path, file: str, heading: str) -> None:
    w = load_request(ERRORS / file).workload
    count = f"{w.m:,} queries over {w.n:,} cells"
    assert count in (ERRORS / file).read_text(encoding="utf-8")
    assert count in (ERRORS / "README.md").read_text(encoding="utf-8")
    counts = data_vector(people, w.domain).counts
    table = stated(heading)
    plain = expected(w, "l2_strategy", w, counts)
    scaled = expected(w, "l2_strategy", w.normalised(), counts)
    # Fifty draws of the noise: their mean is within a few per cent of what it is a draw of.
    for found, row in ((plain, "l2_strategy"), (scaled, "l2_strategy, normalised")):
        np.testing.assert_allclose(found[:-1], table[row][:-1], rtol=0.05)
        assert found[-1] == pytest.approx(table[row][-1], rel=1e-3)
    assert all(one < other for one, other in zip(scaled[:-1], plain[:-1], strict=True))
    assert scaled[-1] > plain[-1]


@pytest.mark.slow
def test_the_command_of_relative_errors_runs(people: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(people.parent)
    (command,) = commands(ERRORS / "ranges.yaml")
    said = run(*command, "--trials", "2")
    assert said.count("l2_strategy, normalised") == said.count("rectangles") / 2 == 4


@pytest.fixture(scope="module")
def workload() -> Workload:
    return load_request(SF1).workload


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Solution, Path]:
    path = tmp_path_factory.mktemp("sf1") / "sf1.npz"
    record = json.loads(run("solve", SF1, "--program", "l2_strategy", "--json", "--out", path))
    assert record["components"] == {"orbits": 400, "components": 96, "largest": 400}
    solution = Solution.load(path)
    assert solution.objective == record["objective"]
    return solution, path


def test_sf1_asks_for_the_census_workload(workload: Workload) -> None:
    """Query by query, on random data; the two are written independently of each other."""
    other = census()
    assert (workload.m, workload.n) == (other.m, other.n) == (4151, 500_480)
    assert workload.domain.shape == other.domain.shape
    assert [rows for _, rows in workload.groups()] == [rows for _, rows in other.groups()]
    x = np.random.default_rng(0).integers(0, 100, workload.n).astype(float)
    np.testing.assert_array_equal(workload.answers(x), other.answers(x))


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
    """Its text stands in tests/record."""
    solution, path = saved
    assert path.stat().st_size < 10_000_000
    assert Solution.load(solution.save(tmp_path / "again.npz")) == solution
    assert "all 16 checks hold" in run("verify", path, SF1)


@pytest.mark.nightly
def test_the_privacy_cost_when_every_query_has_variance_1() -> None:
    text = SF1.read_text(encoding="utf-8").replace("subworkload: PL94", "max_variance: 1.0")
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


@pytest.mark.slow
def test_a_release_of_sf1(workload: Workload, saved: tuple[Solution, Path], tmp_path: Path) -> None:
    people = population(SF1.parent, 5000, tmp_path / "people.csv")
    shown, columns = released(SF1, people, tmp_path / "out", "--strategy", saved[1])
    assert "4,151 answers" in shown and columns["truth"][0] == 5000.0
    # The answers hang together, so that their spread strays more than that of 4,151 alone would.
    assert np.abs(columns["z"]).max() < 6.0
    rmse = np.sqrt(np.mean(columns["standard_error"] ** 2))
    assert rmse == pytest.approx(11.173, rel=tolerances.PRINTED_3)
    equal_queries_have_equal_answers(workload, columns)


@pytest.mark.nightly
@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_a_release_of_a_union_of_products(workload: Workload, tmp_path: Path, noise: str) -> None:
    """Everything by factors: rounding, measurement, least squares and errors."""
    people, file = population(SF1.parent, 5000, tmp_path / "people.csv"), tmp_path / "union.npz"
    run("templates", SF1, "--noise", noise, "--templates", "union", "--out", file)
    assert "all 7 checks hold" in run("verify", file, SF1)
    shown, columns = released(SF1, people, tmp_path / "out", "--strategy", file)
    assert ("epsilon = 1, pure (delta = 0)" if noise == "laplace" else "at delta = 1e-10") in shown
    assert np.mean((columns["low"] <= columns["truth"]) & (columns["truth"] <= columns["high"])) > 0.9
    if noise == "laplace":  # HDMM: 5.17 at unit noise, times the deviation of Laplace noise at epsilon 1
        assert np.sqrt(np.mean(columns["standard_error"] ** 2)) < 5.17 * np.sqrt(2.0)
    equal_queries_have_equal_answers(workload, columns)


def equal_queries_have_equal_answers(workload: Workload, columns: dict[str, np.ndarray]) -> None:
    totals = [columns["estimate"][rows.start] for name, rows in workload.groups() if name == "total"]
    assert len(totals) == 5 and np.ptp(totals) < 1e-6


def test_what_is_refused_at_this_size() -> None:
    assert "'min_error' cannot be solved by component" in refused("solve", SF1, "--program", "min_error")


@pytest.mark.slow
def test_what_else_is_refused_at_this_size(saved: tuple[Solution, Path], tmp_path: Path) -> None:
    certified = refused("certify", SF1, saved[1])
    assert "error: the strategy matrix has 7,544 × 500,480 entries, 28.1 GiB" in certified
    pure = tmp_path / "pure.yaml"
    pure.write_text(SF1.read_text(encoding="utf-8").replace(", delta: 1.0e-10", ""), encoding="utf-8")
    people = population(SF1.parent, 10, tmp_path / "people.csv")
    message = refused("release", pure, people, "--program", "p_identity", "--out", tmp_path / "out")
    assert "error: 'p_identity' cannot be solved by component" in message
    assert not (tmp_path / "out").exists()


@pytest.mark.nightly
def test_tuning_to_the_redistricting_queries() -> None:
    """The slides have 7.28, 16.45, 6.07 and 3.91 for Laplace noise; the table here is for Gaussian noise."""
    rows = json.loads(run("tune", SF1, "PL94", "--factors", "1,4", "--json"))
    assert [row["optimised"] for row in rows] == ["PL94 alone", "the rest alone", "everything", "PL94 × 4"]
    assert all(row["gap"] <= 1e-6 for row in rows)
    alone, rest, plain, more = (row["unit_rmse"] for row in rows)
    assert plain["everything"] == pytest.approx(1.9042, rel=tolerances.PRINTED_3)
    assert alone["PL94"] < more["PL94"] < plain["PL94"]
    assert rest["the rest"] < plain["the rest"] < more["the rest"]
