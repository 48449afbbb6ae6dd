"""Measurements, fits and files of examples/scaling. No figure of time or memory is asserted."""

import csv
import json
import math
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tolerances import FITNESS, GAP_INTERIOR

from mmopt import OptionError, Program, ResultError
from mmopt.cli.command_output import show
from mmopt.comparison import Outcome
from mmopt.testing import PROBLEMS, problem
from tests.examples.here import Here
from tests.examples.scripts import scripts, status
from tests.report.chart_law import faults

module, report = scripts("scaling").measure, scripts("scaling").report
Row, Case, cases, measure, row_of = module.Row, module.Case, module.cases, module.measure, module.row_of
MakeRow = Callable[..., Row]
BENCH = "scaling/bench.py"


@pytest.fixture(scope="session")
def measured() -> list[Row]:
    """Two sizes, two solvers and the baseline, two solves each, in this process."""
    chosen = cases(["l2_strategy"], ["prefix"], [6, 4], ["clarabel", "qoco"], "scs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "Isolated", lambda forks, threads: Here(threads=threads))
        return list(measure(chosen, baseline="scs", repeat=2))


@pytest.fixture
def row() -> MakeRow:
    """A row with made-up figures."""

    def make(solver: str, n: int, cpu: float | None, **changes: object) -> Row:
        figures: dict[str, object] = {
            "program": "l2_strategy",
            "problem": "prefix",
            "chosen": solver,
            "m": n,
            "wall": 1.0,
            "iterations": 7,
            "memory": None if cpu is None else 80 * n**2,
            "gap": None if cpu is None else 1e-7,
            "objective": None if cpu is None else 2.0,
            "bound": None if cpu is None else 1.9,
            "stop": "too large" if cpu is None else "gap reached",
            "reason": "no room" if cpu is None else "",
            "repeats": 3,
        }
        return Row(solver=solver, n=n, cpu=cpu, **{**figures, **changes})  # type: ignore[arg-type]

    return make


def test_cases_are_in_order_with_the_baseline_first() -> None:
    found = cases(
        ["l2_strategy"], ["prefix", "example-4"], [8, 4, 8], ["clarabel", "scs", "automatic"], "scs"
    )
    assert [(c.problem.name, c.n, c.label) for c in found] == [
        (name, n, solver)
        for name, n in (("prefix", 4), ("prefix", 8), ("example-4", 8))
        for solver in ("scs", "clarabel", "automatic")
    ]
    assert [c.solver for c in found[:3]] == ["scs", "clarabel", None]
    assert [c.label for c in cases(["l2_strategy"], ["prefix"], [4], ["clarabel"])] == ["clarabel"]


def test_a_measurement(measured: list[Row]) -> None:
    assert [(r.n, r.m, r.solver) for r in measured] == [
        (n, n, solver) for n in (4, 6) for solver in ("scs", "clarabel", "qoco")
    ]
    for r in measured:
        if r.solver == "qoco":
            continue
        assert r.has_reached and r.repeats == 2 and r.chosen == r.solver
        assert r.cpu is not None and r.cpu > 0 and r.wall > 0
        assert r.iterations is not None and r.iterations > 0
        assert r.gap is not None and 0 <= r.gap <= 1e-4
        assert r.objective is not None and r.bound is not None and r.bound <= r.objective
        base = next(b for b in measured if (b.n, b.solver) == (r.n, "scs"))
        assert base.cpu is not None
        assert r.ratio == pytest.approx(base.cpu / r.cpu, rel=1e-12)


def test_one_that_does_not_apply_is_not_tried_again(measured: list[Row]) -> None:
    first, second = (r for r in measured if r.solver == "qoco")
    assert (first.stop, first.repeats, second.stop, second.repeats) == ("does not apply", 1, "not tried", 0)
    assert first.reason.startswith("'l2_strategy' does not work with qoco: it lacks the psd cone")
    assert second.reason == "not tried: 4 cells ended with 'does not apply'"
    for r in (first, second):
        assert not r.has_reached
        assert (r.cpu, r.gap, r.objective, r.ratio, r.iterations) == (None,) * 5


def test_medians() -> None:
    case = Case(Program.load("l2_strategy"), problem("prefix"), 4, "scs")
    without = Outcome("l2_strategy", "scs", None, "no", "no", "crashed", seconds=1.0, memory=8)
    found = [replace(without, seconds=s, memory=m) for s, m in ((5.0, 80), (1.0, None), (2.0, 160))]
    r = row_of(case, case.problem.workload(4), found)
    assert (r.wall, r.memory, r.squares, r.stop, r.repeats) == (2.0, 120, 120 / 128, "crashed", 3)
    assert row_of(case, case.problem.workload(4), found[1:2]).squares is None
    assert r.summary()["squares"] == r.squares


def test_what_stopped_short_has_not_reached(row: MakeRow) -> None:
    for stop in ("time limit", "iteration limit", "gap not reached", "interrupted"):
        assert not row("scs", 4, 1.0, stop=stop).has_reached
    assert row("scs", 4, 1.0, stop="gap reached in every step").has_reached


@pytest.mark.slow
def test_a_time_limit_ends_the_growth() -> None:
    chosen = cases(["fitness_for_use"], ["prefix"], [32, 48], ["scs"])
    said: list[str] = []
    short, after = measure(chosen, repeat=2, tolerance=1e-15, time_limit=0.2, begin=said.append)
    assert (short.stop, short.ratio, after.stop) == ("time limit", None, "not tried")
    assert short.repeats == 1  # what takes too long once is not repeated
    assert short.gap is not None and math.isfinite(short.gap)
    assert said == ["fitness_for_use on prefix, 32 cells, scs"]


def test_what_is_refused() -> None:
    for name in ("repeat", "threads"):
        with pytest.raises(OptionError) as error:
            next(measure(cases(["l2_strategy"], ["prefix"], [4], ["scs"]), **{name: 0}))
        assert str(error.value) == f"'{name}' is at least 1, not 0"


def test_the_exponent_of_a_power_law_is_found(rng: np.random.Generator) -> None:
    """Noise is averaged; one size says nothing."""
    for power in (-1.0, 0.0, 2.5, 4.0):
        sizes, scale = rng.uniform(1, 1000, size=5), float(rng.uniform(0.1, 10))
        assert report.fitted([(n, scale * n**power) for n in sizes]) == pytest.approx(power, abs=1e-9)
    exact = [(n, n**3.0) for n in (10, 20, 40, 80)]
    assert report.fitted(
        [(n, y * f) for (n, y), f in zip(exact, (2, 1, 1, 2), strict=True)]
    ) == pytest.approx(3.0)
    assert report.fitted([]) is None
    assert report.fitted([(8, 1.0), (8, 2.0)]) is None


def test_exponents_of_a_measurement(row: MakeRow) -> None:
    top = 64 * report.SPAN
    rows = [row("a", n, 1e-9 * n**3) for n in (64, top // 4, top)]
    rows += [row("a", 63, 100.0), row("a", 2 * top, None), row("b", 8, 1.0)]
    rows += [row("a", 3 * top, 1.0, stop="time limit"), row("a", 32, 1.0, problem="blocks")]
    (found,) = report.exponents(rows)
    assert (found.program, found.problem, found.solver) == ("l2_strategy", "prefix", "a")
    assert found.cpu == pytest.approx(3.0) and found.memory == pytest.approx(2.0)
    assert (found.low, found.high, found.count) == (64, top, 3)


def test_memory_that_is_not_known(row: MakeRow) -> None:
    (found,) = report.exponents([row("a", n, float(n), memory=None) for n in (8, 16)])
    assert found.cpu == pytest.approx(1.0) and found.memory is None


def test_exponents_of_what_was_measured(measured: list[Row]) -> None:
    found = report.exponents(measured)
    assert [(e.solver, e.low, e.high, e.count) for e in found] == [("scs", 4, 6, 2), ("clarabel", 4, 6, 2)]
    assert all(np.isfinite(e.cpu) for e in found)


def some(row: MakeRow) -> list[Row]:
    return [
        row("scs", 16, 2.0, ratio=1.0),
        row("automatic", 16, 0.5, chosen="clarabel", ratio=4.0),
        row("scs", 32, 16.0, gap=0.25, stop="time limit"),
        row("automatic", 32, 1.0, chosen="scs"),
        row("qoco", 16, None),
        row("qoco", 32, None),
    ]


def test_the_table(row: MakeRow, capsys: pytest.CaptureFixture[str]) -> None:
    rows = some(row)
    show(*report.tables(rows, report.exponents(rows), "scs"))
    lines = capsys.readouterr().out.splitlines()
    assert lines == [
        "l2_strategy on prefix",
        " n  solver                CPU s  wall s  iter.  MB  n² doubles      gap  ratio",
        "──────────────────────────────────────────────────────────────────────────────",
        "16  scs                       2       1      7   0        10.0  1.0e-07      1",
        "    automatic (clarabel)    0.5       1      7   0        10.0  1.0e-07      4",
        "    qoco                      -       -      -   -           -        -      -",
        "32  scs                      16       1      7   0        10.0  2.5e-01      -",
        "    automatic (scs)           1       1      7   0        10.0  1.0e-07      -",
        "    qoco                      -       -      -   -           -        -      -",
        "",
        "Fitted exponents:",
        "  l2_strategy on prefix, automatic: CPU ~ n^1.00, memory ~ n^2.00 (n = 16 to 32,",
        "2 sizes)",
        "",
        "Neither fitted nor compared:",
        "  l2_strategy on prefix, scs: time limit, at gap 2.5e-01 (n = 32)",
        "  l2_strategy on prefix, qoco: no room (n = 16, 32)",
        "",
        "Medians of 3 solves, each in a fresh process; compiling and certifying included.",
        "MB, n² doubles: the most that the process held above what it held at its start.",
        "gap: objective / bound - 1, recomputed from the program file.",
        "ratio: CPU seconds of scs over these, measured in this run.",
    ]


def test_the_chart(row: MakeRow) -> None:
    rows = [*some(row), row("scs", 16, 3.0, problem="blocks")]
    figure = report.draw(rows, report.exponents(rows))
    first, second = figure.axes
    assert [axes.get_title(loc="left") for axes in figure.axes] == [
        "l2_strategy on prefix",
        "l2_strategy on blocks",
    ]
    assert first.get_xscale() == first.get_yscale() == "log"
    assert [text.get_text() for text in first.get_legend().get_texts()] == ["scs", "automatic: n^1.0"]
    # Solvers differ in dash and marker, not in colour only; an open marker on what stopped short.
    lines = [line for line in first.lines if line.get_linestyle() != "None"]
    assert len({line.get_linestyle() for line in lines}) == len({line.get_marker() for line in lines}) == 2
    hollow = [line for line in first.lines if line.get_markerfacecolor() == "white" and len(line.get_xdata())]
    assert [list(line.get_xdata()) for line in hollow] == [[32]]
    assert list(first.get_xticks()) == [16, 32] and list(second.get_xticks()) == [16]
    assert faults(figure) == []


def test_files(row: MakeRow, tmp_path: Path) -> None:
    rows = [*some(row), row("scs", 64, 3.0, gap=float("inf"), memory=None)]
    found = report.exponents(rows)
    paths = report.write(rows, found, {"threads": 1}, tmp_path / "new" / "folder")
    assert [path.name for path in paths] == list(report.NAMES)
    assert sorted(path.name for path in paths[0].parent.iterdir()) == sorted(report.NAMES)
    with paths[0].open(encoding="utf-8", newline="") as file:
        table = list(csv.DictReader(file))
    assert [(r["solver"], r["n"], r["squares"]) for r in table[:2]] == [
        ("scs", "16", "10.0"),
        ("automatic", "16", "10.0"),
    ]
    saved = json.loads(paths[1].read_text(encoding="utf-8"))
    assert saved["settings"] == {"threads": 1}
    assert [r["cpu"] for r in saved["rows"]] == [r.cpu for r in rows]
    assert saved["rows"][-1]["gap"] is None and saved["rows"][-1]["squares"] is None
    assert saved["exponents"][0]["cpu"] == found[0].cpu
    assert paths[2].read_text(encoding="utf-8").startswith("<?xml")
    before = [path.read_bytes() for path in paths]
    report.write(rows, found, {"threads": 1}, tmp_path / "new" / "folder")
    assert [path.read_bytes() for path in paths] == before


def test_nothing_measured_can_be_written_but_not_into_a_file(tmp_path: Path) -> None:
    paths = report.write([], [], {}, tmp_path)
    assert paths[0].read_bytes() == b"" and json.loads(paths[1].read_text())["rows"] == []
    with pytest.raises(ResultError) as error:
        report.check_folder(paths[0])
    assert str(error.value) == f"the folder '{paths[0]}' cannot be created: File exists"


def test_a_tiny_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mmopt.comparison.Isolated", lambda forks, threads: Here(threads=threads))
    chosen = ("--programs", "query_weighting", "--problems", "prefix", "--sizes", "4,6", "--repeat", "1")
    chosen += ("--solvers", "automatic")
    assert status(monkeypatch, BENCH, *chosen, "--out", str(tmp_path)) == 0
    said = capsys.readouterr()
    assert said.out.startswith("query_weighting on prefix\nn  solver ")
    assert "  query_weighting on prefix, automatic: CPU ~ n^" in said.out
    assert "ratio: CPU seconds of scs over these" in said.out
    assert said.err.splitlines() == [
        *(f"query_weighting on prefix, {n} cells, {s}" for n in (4, 6) for s in ("scs", "automatic")),
        *(f"written: {tmp_path / name}" for name in scripts("scaling").report.NAMES),
    ]
    saved = json.loads((tmp_path / "bench.json").read_text(encoding="utf-8"))
    assert [(r["solver"], r["n"], r["stop"]) for r in saved["rows"]] == [
        (solver, n, "gap reached") for n in (4, 6) for solver in ("scs", "automatic")
    ]
    assert saved["settings"].items() >= {"baseline": "scs", "repeat": 1, "threads": 1, "seed": 0}.items()


def test_textbook_programs_are_proved_and_equal_to_those_of_cvxpy(subtests: pytest.Subtests) -> None:
    own = scripts("scaling").own_programs
    assert len(own.MODELS) == 11
    for name in own.MODELS:
        with subtests.test(name):
            one = own.row(name, 6, "clarabel", 1)
            assert one["proved"] and one["gap"] <= GAP_INTERIOR
            assert one["objective"] == pytest.approx(one["of cvxpy"], rel=FITNESS)


def test_an_unknown_textbook_program_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(monkeypatch, "scaling/own_programs.py", "--only", "laso") == 2
    assert "--only has 'laso'; the programs are linear program," in capsys.readouterr().err


def test_the_list_of_problems(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert status(monkeypatch, BENCH, "--problems", "list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [p.name for p in PROBLEMS]


def test_mistakes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for option, value, message in (
        ("--sizes", "4,x", "--sizes has 'x', expected whole numbers separated by commas"),
        ("--sizes", "1", "a size is at least 2 cells, not 1"),
        ("--problems", "prefix,prefix", "--problems names 'prefix' 2 times"),
        ("--problems", "prefxi", "there is no problem 'prefxi'\n  did you mean 'prefix'?"),
        ("--repeat", "0", "'repeat' is at least 1, not 0"),
        ("--solvers", "scss", "there is no solver 'scss'\n  did you mean 'scs'?"),
        ("--baseline", "scss", "there is no solver 'scss'\n  did you mean 'scs'?"),
        ("--tolerance", "3", "a tolerance lies between 0 and 1, not 3.0"),
        ("--time-limit", "0", "a time limit is a positive number of seconds, not 0.0"),
    ):
        with subtests.test(f"{option} {value}"):
            assert status(monkeypatch, BENCH, option, value) == 2
            said = capsys.readouterr()
            assert (said.out, said.err) == ("", f"error: {message}\n")
