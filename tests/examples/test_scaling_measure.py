"""Cases, and what a row of a measurement says. No figure of time or memory is asserted."""

import math
import sys
from dataclasses import replace

import pytest
from examples.scripts import scripts

from mmopt import OptionError, Program
from mmopt.comparison import Outcome
from mmopt.testing import problem

module = scripts("scaling").measure
Row, Case, cases, measure, row_of = module.Row, module.Case, module.cases, module.measure, module.row_of


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
        assert r.memory is not None or sys.platform != "linux"
        base = next(b for b in measured if (b.n, b.solver) == (r.n, "scs"))
        assert base.cpu is not None
        assert r.ratio == pytest.approx(base.cpu / r.cpu, rel=1e-12)


def test_one_that_does_not_apply_is_not_tried_again(measured: list[Row]) -> None:
    first, second = (r for r in measured if r.solver == "qoco")
    assert (first.stop, first.repeats, second.stop, second.repeats) == ("does not apply", 1, "not tried", 0)
    assert first.reason.startswith("'l2_strategy' does not work with qoco: it must have the psd cone")
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


@pytest.mark.parametrize("stop", ["time limit", "iteration limit", "gap not reached", "interrupted"])
def test_what_stopped_short_has_not_reached(measured: list[Row], stop: str) -> None:
    assert not replace(measured[0], stop=stop).has_reached
    assert replace(measured[0], stop="gap reached in every step").has_reached


@pytest.mark.slow
def test_a_time_limit_ends_the_growth() -> None:
    chosen = cases(["fitness_for_use"], ["prefix"], [32, 48], ["scs"])
    said: list[str] = []
    short, after = measure(chosen, repeat=2, tolerance=1e-15, time_limit=0.2, begin=said.append)
    assert (short.stop, short.ratio, after.stop) == ("time limit", None, "not tried")
    assert short.repeats == 1  # what takes too long once is not repeated
    assert short.gap is not None and math.isfinite(short.gap)
    assert said == ["fitness_for_use on prefix, 32 cells, scs"]


@pytest.mark.parametrize("name", ["repeat", "threads"])
def test_what_is_refused(name: str) -> None:
    with pytest.raises(OptionError) as error:
        next(measure(cases(["l2_strategy"], ["prefix"], [4], ["scs"]), **{name: 0}))
    assert str(error.value) == f"'{name}' is at least 1, not 0"
    with pytest.raises(OptionError) as error:
        cases(["l2_strategy"], ["prefix"], [1], ["scs"])
    assert str(error.value) == "a size is at least 2 cells, not 1"
