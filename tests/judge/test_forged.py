"""Forged and false figures: the judge refutes them, so that its silence means something."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from flint import arb, ctx
from judge import lifting
from judge.measured import Asked, Measured
from judge.programs import l2_certificate
from judge.rivals import RIVALS, fixed_point
from judge.verdict import RIVAL, attack, judge
from judge.workloads import DENSE, PRODUCTS

from mmopt import ResultError, Solution, Workload, solve
from mmopt.driver.templates import templates

STEP = 1e-9  # relative: how little a forger takes


def names(verdicts: object) -> set[str]:
    return {v.name.rpartition(": ")[2] for v in verdicts if not v.holds}  # type: ignore[attr-defined]


def scaled(solution: Solution, field: str, by: float) -> Solution:
    return dataclasses.replace(solution, **{field: getattr(solution, field) * by})


def without(changes: Callable[[], Solution]) -> Solution | None:
    """A forged solution, or None where mmopt does not let it come about."""
    try:
        return changes()
    except ResultError:
        return None


def test_figures_that_are_a_little_better_than_they_are(subtests: pytest.Subtests) -> None:
    """At a gap of 1e-12 or none, so that a bound that is a little higher is above its certificate."""
    for program in ["l2_strategy", "fitness_for_use", "query_weighting", "laplace_weighting", "eigen_design"]:
        with subtests.test(program):
            workload = DENSE["weighted"]().workload
            honest = solve(workload, program)
            for field, name in (
                ("objective", "objective"),
                ("error", "total error"),
                ("rmse", "rmse"),
                ("sensitivity", "sensitivity"),
            ):
                down = scaled(honest, field, 1 - (STEP if field != "rmse" else 1e-6))
                assert name in names(judge(down, workload)), field
            for field, name in (("bound", "bound"), ("error_bound", "bound over all strategies")):
                up = scaled(honest, field, 1 + STEP)
                if field == "bound" and program == "eigen_design":
                    continue  # the same number as error_bound
                assert name in names(judge(up, workload)), field


def test_a_program_that_maximises_has_the_sides_changed(subtests: pytest.Subtests) -> None:
    for program in ["query_weighting_dual", "l2_strategy_dual"]:
        with subtests.test(program):
            workload = DENSE["prefix"]().workload
            honest = solve(workload, program)
            assert "objective" in names(judge(scaled(honest, "objective", 1 + STEP), workload))
            assert "bound" in names(judge(scaled(honest, "bound", 1 - STEP), workload))


def test_a_strategy_that_is_another_one() -> None:
    """Longer by a part in 10^12; and one without the row that a query needs."""
    workload = DENSE["prefix"]().workload
    honest = solve(workload, "l2_strategy")
    a = honest.strategy.matrix
    longer = dataclasses.replace(honest, strategy=type(honest.strategy)(a * (1 + 1e-12), 2))
    assert "sensitivity" in names(judge(longer, workload))
    less = a - np.outer(a @ np.eye(5)[0], np.eye(5)[0])
    fewer = dataclasses.replace(honest, strategy=type(honest.strategy)(less, 2))
    assert "support" in names(judge(fewer, workload))


def test_multipliers_of_the_wrong_sign() -> None:
    """Clipped, they prove nothing, so no positive bound stands on them."""
    workload = DENSE["prefix"]().workload
    honest = solve(workload, "l2_strategy")
    wrong = {"sensitivity": -np.asarray(honest.multipliers["sensitivity"])}
    found = judge(dataclasses.replace(honest, multipliers=wrong), workload)
    assert names(found) == {"bound"}
    wrong_ones = {"error_multipliers": -np.asarray(honest.error_multipliers)}
    assert names(judge(dataclasses.replace(honest, **wrong_ones), workload)) == {"bound over all strategies"}


def test_targets_that_are_missed() -> None:
    workload = DENSE["prefix"]().workload
    honest = solve(workload, "fitness_for_use")
    noisier = type(honest.strategy)(honest.strategy.matrix * (1 - 1e-9), 2)
    assert "targets" in names(judge(dataclasses.replace(honest, strategy=noisier), workload))


def test_a_certificate_that_is_doubled() -> None:
    """B2: bound twice as high by a false certificate. The formulas here and a rival both refute it."""
    workload = DENSE["prefix"]().workload
    honest = solve(workload, "l2_strategy")
    text = honest.program_text.replace("nuclear(W @", "2 * nuclear(W @")
    false = dataclasses.replace(scaled(honest, "bound", 2.0), program_text=text)
    assert {"bound", "bound against objective"} <= names(judge(false, workload))
    verdict, above = attack(false, workload, RIVALS["l2_strategy"])
    assert not verdict.holds and verdict.name == RIVAL
    assert above == pytest.approx(-0.5, abs=1e-3)


def test_a_constraint_that_is_another_one() -> None:
    """B3: diag(X) <= 2 leaves half the error feasible. Its own ``repair`` hides that; a rival does not."""
    workload = DENSE["prefix"]().workload
    honest = solve(workload, "l2_strategy")
    claimed = dataclasses.replace(honest, program="own")
    verdict, _ = attack(claimed, workload, lambda p: RIVALS["l2_strategy"](p) / 2)
    assert not verdict.holds


def _false_symmetry() -> tuple[Workload, np.ndarray]:
    rows = np.vstack([np.full((1, 520), 8.4e6 + 1 / 3), np.eye(6, 520)])
    return Workload.from_matrix(rows), rows


def _merged_rival(rows: np.ndarray) -> arb:
    """The cells that no query tells apart as one: a strategy of seven rows over all of them, in balls."""
    x = fixed_point(rows[:, :7], steps=200)
    values, vectors = np.linalg.eigh(x)
    few = (vectors * np.sqrt(np.maximum(values, 0))).T
    a = np.hstack([few[:, :6], np.repeat(few[:, 6:], rows.shape[1] - 6, axis=1)])
    return Measured.dense(a, 2).total_error(Asked(rows, np.ones(len(rows)), np.full(len(rows), np.inf)))


def test_a_symmetry_that_is_none() -> None:
    """B5: the bound that 0.1.0 proved, over 520 cells in one orbit, is above a feasible strategy."""
    _, rows = _false_symmetry()
    with ctx.workdps(60):
        assert _merged_rival(rows) < 70560065267391.06 < 70560387962747.7


def test_the_bound_of_that_workload() -> None:
    """And the bound as it is printed is one, of its multipliers and against that strategy."""
    workload, rows = _false_symmetry()
    found = solve(workload, "l2_strategy").fields()
    asked = Asked(rows, np.ones(7), np.full(7, np.inf))
    with ctx.workdps(60):
        proved = l2_certificate(asked.weighted(), lifting.vector(found["multipliers"]["sensitivity"]))
        assert arb(found["bound"]) <= proved
        assert arb(found["bound"]) <= _merged_rival(rows)


def test_a_template_that_is_better_than_it_is() -> None:
    workload = PRODUCTS["ranges and cells"]().workload
    honest = templates(workload, names=["product"]).solution(workload)
    assert names(judge(honest, workload)) == set()
    forged = dataclasses.replace(honest, error=honest.error * (1 - STEP))
    assert names(judge(forged, workload)) == {"total error"}
    # A bound is cut to the error.
    above = without(lambda: dataclasses.replace(honest, error_bound=honest.error * (1 + STEP)))
    assert above is None or above.error_bound == above.error
