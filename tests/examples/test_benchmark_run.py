"""The benchmark's command line on a small suite of its own, end to end; and what it refuses.

Calls are made in this process, one slow test makes them in processes of their own.
"""

import csv
import json
import math
import re
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from mmopt.solvers.conic_solvers import installed_others
from tests.examples.here import Here
from tests.examples.scripts import EXAMPLES, scripts, status

RUN, MAKE = "benchmark/run.py", "benchmark/make.py"
TINY = """
title: A tiny suite
workloads:
  four: four.yaml
  three: {domain: {x: {range: [0, 3], width: 1}}, workload: [{product: {x: all_range}}]}
instances:
  - {program: game.program, workloads: [three, four], class: LP}
  - {program: l2_strategy_lmi, workloads: [three]}
"""
FOUR = "domain: {x: {range: [0, 4], width: 1}}\nworkload: [{product: {x: prefix}}]\n"
GAME = """
program game
given
    W: matrix[m, n] = workload.matrix
choose
    p: vector[m] >= 0
minimize
    max(W.T @ p)
subject to
    total: sum(p) >= 1
repair
    p = p / sum(p)
strategy
    eye(n) norm 1
"""
OWN = "own_of_the_benchmark"  # a module
# The function of the README, and some that are wrong.
(SIMPLEX,) = re.findall(r"```python\n(.*?)```", (EXAMPLES / "benchmark/README.md").read_text("utf-8"), re.S)
WRONG = '''

def wrong(problem):
    """A point that is far off, then none."""
    if problem.options.tolerance < 1e-4:
        raise ValueError("no further")
    return np.ones(len(problem.c)), np.zeros(len(problem.b))


CALLS = []


def good_once(problem):
    """A good point at the first call that it sees of the instance, far off afterwards."""
    if len(problem.c) > 1:
        CALLS.append(problem)
    right = simplex(problem)
    return right if len(CALLS) < 2 else (np.ones(len(problem.c)), right[1])


def rough_then_off(problem):
    """Off by 1e-5 at 1e-3, far off at tighter tolerances: one good point must not count twice."""
    right = simplex(problem)
    off = 1e-5 if problem.options.tolerance > 1e-4 else 1.0
    x = np.array(right[0])
    x[1:] += off * np.arange(1, len(x))
    return x, right[1]


def yields(problem):
    """Two answers, of which the last counts."""
    right = simplex(problem)
    yield np.ones(len(problem.c)), right[1]
    yield right


def chooses(problem):
    """Says of what it has to solve that it is not for it."""
    from mmopt.errors import UnsuitableError

    raise UnsuitableError("too hard for me today")


for each in (good_once, rough_then_off, yields, chooses):
    each.cones = simplex.cones
'''


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "tiny"
    folder.mkdir()
    (folder / "suite.yaml").write_text(TINY)
    (folder / "four.yaml").write_text(FOUR)
    (folder / "game.program").write_text(GAME)
    (tmp_path / f"{OWN}.py").write_text(SIMPLEX + WRONG)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return folder


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmopt.comparison.Isolated", Here)


@pytest.mark.usefixtures("here")
def test_from_a_folder_to_a_profile(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Optima are proved; three instances are run with two solvers, one of them a function of a file."""
    files, out, simplex = tmp_path / "files", tmp_path / "out", f"{OWN}:simplex"
    assert status(monkeypatch, MAKE, str(suite), "--out", str(files), "--prove") == 0
    with (suite / "optima.csv").open(encoding="utf-8") as file:
        optima = {row["instance"]: row for row in csv.DictReader(file)}
    assert {name: row["class"] for name, row in optima.items()} == {
        "game-three": "LP",
        "game-four": "LP",
        "l2_strategy_lmi-three": "many-LMI SDP",
    }
    # All weight on the three single cells; every prefix counts the first cell.
    assert [float(optima[f"game-{n}"]["lower"]) for n in ("three", "four")] == pytest.approx([1 / 3, 1.0])
    assert sorted(path.suffix for path in files.iterdir()) == [".cbf"] * 3 + [".dat-s"] * 3
    chosen = ("--solvers", f"clarabel,{simplex}", "--limit", "10", "--shift", "0.5", "--out", str(out))
    assert status(monkeypatch, RUN, str(suite), *chosen) == 0
    said = capsys.readouterr()
    charts = ("profile-all-classes.svg",)
    assert said.err.splitlines()[-2:] == [f"written: {out / name}" for name in ("page.md", *charts)]
    table = pq.read_table(out / "calls.parquet")
    facts = json.loads(table.schema.metadata[b"benchmark"])
    assert facts["settings"]["limit"] == 10.0 and facts["machine"]["threads of a solver"] == 1
    assert set(facts["versions"]) == {"mmopt", "clarabel", "numpy", "scipy", "cvxpy", simplex}
    assert facts["versions"][simplex] == "-"  # its module does not say
    best = scripts("benchmark").aggregates.best_gaps(table.to_pylist())
    for row in table.to_pylist():
        if row["solver"] == "clarabel":
            assert row["seconds"] >= row["own"] > 0 and row["err1"] >= 0 and row["compile"] > 0
            assert row["seconds_least"] <= row["seconds"] <= row["seconds_most"]
        if row["solver"] == simplex and row["seconds"] is not None:
            assert row["own"] is None and max(abs(row[f"err{i}"]) for i in range(1, 7)) < 1e-9
    assert max(best["clarabel", name] for name in optima) <= 1e-9
    assert max(best[simplex, name] for name in ("game-three", "game-four")) <= 1e-9
    assert best[simplex, "l2_strategy_lmi-three"] == math.inf
    page = (out / "page.md").read_text(encoding="utf-8")
    assert page.startswith("# A tiny suite\n") and "the proved optimum (3 of 3 instances;" in page
    assert f"- does not take 1: 'l2_strategy_lmi' does not work with {simplex}" in page
    for chart in charts:
        assert f"]({chart})" in page and (out / chart).read_text(encoding="utf-8").startswith("<?xml")
    # Other data than what was proved are told, and not run.
    (suite / "four.yaml").write_text(FOUR.replace("[0, 4]", "[0, 5]"))
    assert status(monkeypatch, MAKE, str(suite), "--out", str(files)) == 0
    assert capsys.readouterr().out.endswith("other data than those whose optimum is proved: game-four\n")
    assert status(monkeypatch, RUN, str(suite), *chosen) == 2
    assert capsys.readouterr().err == (
        f"error: the optimum of 'game-four' in '{suite / 'optima.csv'}' is proved for other data\n"
        f"  prove it again (make.py {suite} --prove), or run without the file\n"
    )


@pytest.mark.slow
def test_a_kernel_and_functions_that_are_wrong_in_processes_of_their_own(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = ("--only", "game-three,l2_strategy_lmi-three", "--limit", "10", "--out", str(tmp_path / "out"))
    names = f"kernel,{OWN}:wrong,{OWN}:good_once"
    assert status(monkeypatch, MAKE, str(suite), "--prove") == 0
    assert status(monkeypatch, RUN, str(suite), "--solvers", names, *chosen) == 0
    rows = pq.read_table(tmp_path / "out" / "calls.parquet").to_pylist()
    best = scripts("benchmark").aggregates.best_gaps(rows)
    assert best["kernel", "game-three"] == math.inf and best["kernel", "l2_strategy_lmi-three"] <= 1e-9
    # All weights equal: four of the six ranges count the cell in the middle.
    assert best[f"{OWN}:wrong", "game-three"] == pytest.approx(4 / 6 * 3 - 1)
    # Nothing is remembered from one call to the next.
    good = [
        row["gap"] for row in rows if (row["solver"], row["instance"]) == (f"{OWN}:good_once", "game-three")
    ]
    assert max(good) < 1e-5
    page = (tmp_path / "out" / "page.md").read_text(encoding="utf-8")
    assert "- does not take 1: no kernel claims the program" in page
    assert "ValueError: no further: game-three (1.0e+00)" in page
    assert "**Partial: 2 of the suite's 3 instances.**" in page


@pytest.mark.usefixtures("here")
def test_each_call_is_judged_by_its_own_point_and_a_solver_cannot_choose_its_failures(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without optima too, and for a program without a certificate: a bound is derived once."""
    out, names = (
        tmp_path / "out",
        ",".join(f"{OWN}:{name}" for name in ("yields", "rough_then_off", "chooses")),
    )
    chosen = ("--only", "game-three", "--limit", "10", "--out", str(out), "--solvers", names)
    assert status(monkeypatch, RUN, str(suite), *chosen) == 0
    gaps: dict[str, list[float]] = {}
    for row in pq.read_table(out / "calls.parquet").to_pylist():
        gaps.setdefault(row["solver"].removeprefix(f"{OWN}:"), []).append(row["gap"])
        assert row["lower"] is None and row["reference"] == pytest.approx(1 / 3)
    assert len(gaps["rough_then_off"]) == 5
    assert gaps["rough_then_off"][0] < 1e-3 < min(gaps["rough_then_off"][1:])
    assert gaps["yields"][0] < 1e-5  # the last answer of a generator counts
    assert gaps["chooses"] == [math.inf] * 5
    page = (out / "page.md").read_text(encoding="utf-8")
    assert f"| {OWN}:chooses | 1 | 0 | 0 | 0 |" in page and "UnsuitableError: too hard for me today" in page


@pytest.mark.usefixtures("here")
def test_a_point_beyond_the_proved_optimum_is_an_error_that_is_shown(
    suite: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = scripts("benchmark").suite_table
    instance = table.instances_in(suite, ["game-four"])[0]
    text = scripts("benchmark").make.made(instance).files[".cbf"]
    (suite / "optima.csv").write_text(
        f"instance,lower,upper,sha256\ngame-four,1.5,1.6,{table.data_hash(text)}\n"
    )
    chosen = ("--only", "game-four", "--solvers", "clarabel", "--limit", "10")
    assert status(monkeypatch, RUN, str(suite), *chosen) == 0
    said = capsys.readouterr()
    assert "**Error: clarabel on game-four: the certified objective " in said.out
    assert "is beyond the proved 1.5: the table of optima is wrong, or mmopt is" in said.err
    assert "| clarabel | 1 | 0 | 0 | 0 |" in said.out


MORE = """
title: Steps and no solutions
workloads:
  two: {domain: {x: {range: [0, 2], width: 1}}, workload: [{product: {x: all_range}}]}
  three: {domain: {x: {range: [0, 3], width: 1}}, workload: [{product: {x: all_range}}]}
instances:
  - {program: steps.program, workloads: [two, three], ladder: games}
  - {program: none.program, workloads: [two], truth: infeasible}
"""
NONE = """
program none
choose
    x: vector[2] >= 0
minimize
    x[0]
subject to
    most:  x[0] + x[1] <= 1
    least: x[0] + 2 * x[1] >= 3
"""
STEPS = GAME.replace("program game", "program steps").replace(
    "strategy\n    eye(n) norm 1",
    "certificate y: vector[n] >= 0 from W.T @ p\n    min(W @ y) / sum(y)",
)


@pytest.mark.usefixtures("here")
def test_two_suites_with_a_ladder_and_a_problem_without_a_solution(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One page of both, with solvers of the table, of cvxpy, cvxpy alone, mmopt and a wrong function."""
    more, out = tmp_path / "more", tmp_path / "out"
    more.mkdir()
    for name, text in (("suite.yaml", MORE), ("none.program", NONE), ("steps.program", STEPS)):
        (more / name).write_text(text)
    names = ("clarabel", "highs", "cvxpy:scs", "mmopt", f"{OWN}:wrong", f"{OWN}:simplex")
    chosen = ("--solvers", ",".join(names), "--limit", "10", "--repeats", "2", "--out", str(out))
    only = ("--only", "game-three,steps-two,steps-three,none-two")
    assert status(monkeypatch, RUN, str(suite), str(more), *chosen, *only) == 0
    rows = pq.read_table(out / "calls.parquet").to_pylist()
    of_game = {
        name: [row for row in rows if (row["solver"], row["instance"]) == (name, "game-three")]
        for name in names
    }
    assert len(of_game["cvxpy:scs"]) == 1 and len(of_game["highs"]) >= 1  # cvxpy alone is not told how exact
    assert min(row["gap"] for row in of_game["mmopt"]) <= 1e-9
    tried = {(row["solver"], row["size"]) for row in rows if row["ladder"] == "games"}
    assert (f"{OWN}:wrong", 2) in tried and (f"{OWN}:wrong", 3) not in tried and ("highs", 3) in tried
    page = (out / "page.md").read_text(encoding="utf-8")
    assert page.startswith("# Solvers side by side\n") and (out / "ladders.svg").exists()
    line = next(text for text in page.splitlines() if text.startswith("| none-two |"))
    assert re.fullmatch(
        r"\| none-two \| infeasible \| proved \| proved \| proved \| proved \| nothing "
        r"\| said, no ray \|",
        line,
    )
    assert "games up to 3; proves 1 of 1 problems without a solution" in page
    assert f"| {OWN}:wrong | no | - | none |" in page


class Ended(Here):
    """The signal that ends a job arrives during the second instance: in the call, or between two tasks."""

    def __init__(self, between: bool, **settings: Any) -> None:
        super().__init__(**settings)
        self.between = between

    def run(self, task: Any, report: Any = None) -> Any:
        if task.workload.n == 4:
            try:
                signal.raise_signal(signal.SIGTERM)
            except KeyboardInterrupt:
                if self.between:
                    raise
                self.interrupted = True
        return super().run(task, report)


@pytest.mark.parametrize("between", [False, True])
def test_a_run_that_is_ended_writes_what_there_is(
    between: bool, suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mmopt.comparison.Isolated", partial(Ended, between))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        chosen = ("--solvers", f"{OWN}:simplex", "--out", str(tmp_path / "out"))
        assert status(monkeypatch, RUN, str(suite), *chosen) == 0
    finally:
        signal.signal(signal.SIGINT, before)
    done = {row["instance"] for row in pq.read_table(tmp_path / "out" / "calls.parquet").to_pylist()}
    assert done == {"game-three"}


def test_cones_that_are_none_are_refused_before_the_run(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "misspelt.py").write_text(SIMPLEX + '\n\nsimplex.cones = {"soc"}\n')
    assert status(monkeypatch, RUN, str(suite), "--solvers", "misspelt:simplex") == 2
    assert capsys.readouterr().err == (
        "error: the cones of the solver 'misspelt:simplex' are {'soc'}, expected some of zero, nonnegative, "
        "second-order, psd, exponential, power\n  for example function.cones = {'zero', 'nonnegative'}\n"
    )


def test_time_of_child_processes_counts() -> None:
    measured = scripts("benchmark").measured_solve
    before = measured._cpu_seconds()
    subprocess.run([sys.executable, "-c", "sum(range(10**6))"], check=True)
    children = measured._cpu_seconds() - before
    assert children > 0.005  # an interpreter does not start in less


MISTAKES = (
    (
        RUN,
        ("--solvers", "clarable"),
        "there is no solver 'clarable'\n  take "
        f"{', '.join(dict.fromkeys(('clarabel', 'scs', 'cvxopt', 'qoco', 'sdpa', *installed_others())))}, "
        "mmopt, kernel, cvxpy:NAME, or module:function",
    ),
    (RUN, ("--only", "game-fuor"), "there is no instance 'game-fuor'\n  did you mean 'game-four'?"),
    (RUN, ("--clock", "sun"), "--clock is 'seconds' or 'cpu', not 'sun'"),
    (RUN, ("--shift", "0"), "a shift is a positive number of seconds, not 0.0"),
    (RUN, ("--limit", "0"), "a time limit is a positive number of seconds, not 0.0"),
    (RUN, ("--repeats", "0"), "--repeats is at least 1, not 0"),
    (RUN, ("--threads", "0"), "'threads' is at least 1, not 0"),
    (RUN, ("--memory", "0"), "a memory limit is a positive number of GiB, not 0.0"),
    (
        MAKE,
        ("--prove", "--only", "game-four"),
        "the optimum of 'game-three' is not proved yet\n  leave --only out",
    ),
)
NO_TABLES = (
    (
        None,
        "'{path}' cannot be read: No such file or directory\n  a suite is a folder with a suite.yaml, "
        "which examples/benchmark/suite_table.py describes",
    ),
    ("title: x", "'{path}' needs the keys workloads and instances"),
    (
        TINY.replace(", workloads: [three]", ""),
        "row 2 of the instances in '{path}' needs a program and workloads",
    ),
    (
        TINY.replace("[three, four]", "[three, for]"),
        "row 1 of the instances in '{path}' has no workload 'for'\n  did you mean 'four'?",
    ),
    (
        TINY.replace("LP", "LQ"),
        "'LQ' is no class\n  these are: LP, SOCP, one-block SDP, many-LMI SDP, exponential cone",
    ),
    (
        TINY.replace("class: LP", "truth: false"),
        "'False' is no truth\n  these are: infeasible, weakly infeasible, unbounded, weakly unbounded",
    ),
    (
        TINY.replace("[three, four]", "[three, three]"),
        "'{path}' has an instance twice: a program with a workload",
    ),
    ("title: [", "'{path}' is no YAML: "),
)


def test_mistakes(
    suite: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    subtests: pytest.Subtests,
) -> None:
    for script, arguments, message in MISTAKES:
        with subtests.test(" ".join(arguments)):
            assert status(monkeypatch, script, str(suite), *arguments) == 2
            said = capsys.readouterr()
            assert (said.out, said.err) == ("", f"error: {message}\n")
    path = suite / "suite.yaml"
    for text, message in NO_TABLES:
        with subtests.test(message):
            path.unlink() if text is None else path.write_text(text)
            assert status(monkeypatch, RUN, str(suite)) == 2
            said, expected = capsys.readouterr().err, f"error: {message.format(path=path)}"
            assert said.startswith(expected) if message.endswith(": ") else said == f"{expected}\n"


def test_names_are_those_of_program_and_workload(suite: Path) -> None:
    table = scripts("benchmark").suite_table
    assert [each.name for each in table.instances_in(suite)] == [
        "game-three",
        "game-four",
        "l2_strategy_lmi-three",
    ]
    assert table.optima_in(suite) == {}
