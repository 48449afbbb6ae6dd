"""A solution for a reader: rows of a table, and one JSON object."""

from collections import Counter
from typing import Any

import numpy as np

from mmopt.limits import Stop
from mmopt.numerics.arrays import Array, rounded
from mmopt.numerics.component_arrays import Level, Measure
from mmopt.results.saved_fields import Value
from mmopt.strategies import (
    ADD_REMOVE,
    ComponentStrategy,
    ProductStrategy,
    SetStrategy,
    Strategy,
    StrategyOfFew,
)

Solution = Any  # whose file imports this one


# Fields of a summary that a program without a strategy lacks.
OF_STRATEGY = (
    *("error", "error_grade", "error_bound", "error_bound_grade", "error_gap", "error_gap_grade"),
    *("own_sensitivity", "sensitivity", "privacy_cost", "profile", "rmse", "components"),
)
ZERO = 1e-250  # figures nearer to zero are shown as zero
SHOWN_REPEATS = 10  # a step that was repeated more often is shown once, the last time


def rows(solution: Solution) -> list[tuple[str, str]]:
    """The rows of a table, (name, text), the most important first."""
    s, up = solution, solution.sense == "minimize"
    if s.template:
        return [
            ("template", s.template),
            ("strategy", repr(s.strategy)),
            *error_rows(s, bound_by=f", by {s.bound_from}"),
        ]
    n = _digits(s.objective, s.objective if s.bound is None else s.bound, up)
    bound, whose, side = (
        "no bound",
        "for the givens passed" if s.givens else "by the program's author",
        "below" if up else "above",
    )
    if s.bound is not None:
        points = f"{s.survived} feasible points, none of them repaired"
        survived = f"survived {points}" if s.survived else "not tested"
        tested = f", {whose}; {survived}" if s.bound_grade == "claimed" else ""
        bound = f"{_figure(s.bound, n, not up)}   ({s.bound_grade}: no feasible point is {side} it{tested})"
    neighbours = s.strategy.neighbours
    other_multipliers = "" if s.error_bound == s.bound else ", at Solution.error_multipliers"
    before = s.own_sensitivity if s.covariance is None else s.sensitivity
    scaled = "" if before is None else f" from {rounded(before, 6, up=True)}"
    to = "; the strategy is scaled to it" * (s.covariance is None)
    table = [
        ("program", f"{s.program}: {s.title}" if s.title else s.program),
        ("solver", _solver_words(s)),
        *((("givens", f"{', '.join(s.givens)}: passed; all figures are with them"),) * bool(s.givens)),
        *((("reduced", "; ".join(s.reductions)),) if s.reductions else ()),
        *((("not dense", _components_words(s.strategy)),) if not isinstance(s.strategy, Strategy) else ()),
        ("status", str(s.status)),
        ("objective", f"{_figure(s.objective, n, up)}   ({s.objective_grade})"),
        ("bound", bound),
        *_derived_rows(s, up),
        ("gap", "none" if s.gap is None else f"{_figure(s.gap, 2, True, 'e')}   ({_gap_words(s)})"),
        *(_privacy_rows(s) if s.covariance is not None else ()),
        *(error_rows(s, scaled, other_multipliers) if s.has_strategy else ()),
        *((("sensitivity", f"{rounded(s.sensitivity, 10, up=True)}   (rounded up{to})"),) * s.has_strategy),
        *((("neighbours", neighbours.words),) * (s.has_strategy and neighbours != ADD_REMOVE)),
        ("seconds", ", ".join(f"{name} {t:.2f}" for name, t in s.seconds.items())),
    ]
    word = "factor" if s.is_in_factors else "step"
    for name, step in few_steps(s).items():
        bound, up = "no bound", step.sense == "minimize"
        if step.bound is not None:
            gap = f"gap {rounded(step.gap, 2, up=True, layout='e')} ({_gap_words(step)})"
            bound = f"bound {rounded(step.bound, 10, up=not up)} ({step.bound_grade}), {gap}"
        objective = f"objective {rounded(step.objective, 10, up=up)} ({step.objective_grade})"
        table.append((f"{word} {name}", f"{step.program}: {objective}, {bound}"))
    return table + [("warning", text) for text in s.warnings]


def _figure(value: float, digits: int = 10, up: bool = True, layout: str = "g") -> str:
    """A figure, rounded to its worse side; zero where it only covers the rounding of floats at zero."""
    is_zero = 0 < abs(value) < ZERO
    return f"0 (within {ZERO:.0e})" if is_zero else rounded(value, digits, up=up, layout=layout)


def _digits(objective: float, bound: float, up: bool) -> int:
    """At least 10 digits, and at most 15, at which the two are printed about as far apart as they are."""
    printed = ((n, rounded(objective, n, up=up), rounded(bound, n, up=not up)) for n in range(10, 15))
    apart, last = 2 * abs(objective - bound), 10 if objective == bound else 15
    return next((n for n, one, other in printed if abs(float(one) - float(other)) <= apart), last)


def _gap_words(s: Solution) -> str:
    """The grade of the gap, and its kind where it is not relative."""
    is_local = s.gap is not None and s.status.stop.startswith(Stop.LOCAL)
    search = "the optimum lies between bound and objective; a local search proves no more" if is_local else ""
    return "; ".join(filter(None, (s.gap_grade, s.kind_of_gap, search)))


def _derived_rows(s: Solution, up: bool) -> list[tuple[str, str]]:
    """The bound read off the program's lines, where it differs from the bound of the certificate."""
    if s.derived_bound is None or s.derived_bound == s.bound:
        return []
    gap = "" if s.derived_gap is None else f"; gap {_figure(s.derived_gap, 2, True, 'e')}"
    if s.gap is not None and s.derived_gap is not None and s.derived_gap < s.gap / 2:
        gap += "; the certificate is loose here"
    basis = f"{s.derived_grade}: from the program's constraints{gap}"
    return [("derived bound", f"{_figure(s.derived_bound, up=not up)}   ({basis})")]


def error_rows(s: Solution, scaled: str = "", bound_by: str = "") -> list[tuple[str, str]]:
    """The rows of a strategy's error, its bound and its gap.

    scaled, bound_by : from what sensitivity the strategy was scaled; a remark on the bound.
    """
    total, bound = rounded(s.error, 10, up=True), rounded(s.error_bound, 10, up=False)
    return [
        (
            "total error",
            f"{total}   ({s.error_grade}: in floating point, for noise of variance 1, with the strategy "
            f"scaled{scaled} "
            "to sensitivity 1)",
        ),
        ("error bound", f"{bound}   ({s.error_bound_grade}; over all strategies{bound_by})"),
        ("error gap", f"{rounded(s.error_gap, 2, up=True, layout='e')}   ({s.error_gap_grade})"),
        ("rmse", f"{rounded(s.rmse, 6, up=True)}   (per query, unweighted; for noise of variance 1)"),
    ]


def few_steps(solution: Solution) -> dict[str, Solution]:
    """The steps to show: every factor; of a step that was repeated often only the last."""
    steps = dict(solution.steps)
    names = {step: step if solution.is_in_factors else step.partition(" ")[0] for step in steps}
    repeats = Counter(names.values())
    return {
        step: solved
        for step, solved in steps.items()
        if repeats[names[step]] <= SHOWN_REPEATS or step == f"{names[step]} {repeats[names[step]]}"
    }


def levels(value: Value) -> tuple[Array, Array]:
    """The values of a vector, and how many of its entries have each: 1, or the sizes of the orbits.

    A measure of cells that are not listed gives the weights of its products.
    """
    if isinstance(value, Level):
        assert value.space.sizes is not None
        return np.asarray(value.values), value.space.sizes
    if isinstance(value, Measure):
        return value.mixture.weights, np.ones(value.mixture.count)
    return np.asarray(value), np.ones(np.shape(value))


def _privacy_rows(s: Solution) -> list[tuple[str, str]]:
    """The rows of privacy cost and profile, for a program with a covariance."""
    cost = s.privacy_cost
    delta, rho = (rounded(value, 6, up=True) for value in (cost, cost**2 / 2))
    first = ("privacy cost", f"Δ = {delta}, ρ = Δ²/2 = {rho}")
    if isinstance(s.strategy, StrategyOfFew | ProductStrategy):  # cells are not listed
        return [first]
    profile, sizes = levels(s.profile)
    free = int(sizes[levels(s.slack)[0] > 0].sum())
    words = f"Δ² at {_count(s.strategy.n - free)} of {_count(s.strategy.n)} cells"
    if free:
        words += (
            f", down to {rounded(profile.min() / cost**2, 4, up=True)} Δ² (cells with slack: {_count(free)})"
        )
    return [first, ("profile", words)]


def _count(number: int) -> str:
    """A count of cells or queries: plain digits below a million, then six significant digits."""
    return f"{number}" if number < 10**6 else f"{float(number):.6g}"


def _components_words(strategy: Any) -> str:
    """How a strategy splits, and the size that its matrix would have."""
    n, p = strategy.n, strategy.p
    if isinstance(strategy, ProductStrategy):
        return "strategy in factors: " + " ⊗ ".join(f"{f.p:,} × {f.n:,}" for f in strategy.factors)
    if isinstance(strategy, SetStrategy):
        return f"strategy by {len(strategy.sets):,} sets of attributes: {_count(p)} queries of few each"
    if isinstance(strategy, StrategyOfFew):
        return f"strategy in the space of the queries: {p:,} functions of few attributes each"
    gigabytes = 8.0 * float(n) * float(p) / 2**30
    size = f"{gigabytes:,.1f}" if gigabytes < 1e6 else f"{gigabytes:.1e}"
    return (
        f"strategy by component ({strategy.cells.words}); "
        f"as a matrix {_count(p)} × {_count(n)} it would take {size} GiB"
    )


def summary(solution: Solution) -> dict[str, Any]:
    """The figures as one JSON object."""
    s, derived = solution, {}
    if s.template:
        words = ("error", "error_grade", "error_bound", "error_bound_grade", "bound_from", "rmse")
        named = {"template": s.template, "strategy": repr(s.strategy), "norm": s.strategy.norm}
        return named | {name: getattr(s, name) for name in words} | {"seconds": s.seconds["total"]}
    is_listed = not isinstance(s.strategy, StrategyOfFew | ProductStrategy)
    if s.derived_bound is not None:
        derived = {
            "derived_bound": s.derived_bound,
            "derived_grade": s.derived_grade,
            "derived_gap": finite(s.derived_gap),
        }
    components = None
    if isinstance(s.strategy, ComponentStrategy):
        cells = s.strategy.cells
        components = {"orbits": len(cells.sizes), "components": cells.count, "largest": cells.largest}
    fields = {
        "program": s.program,
        "solver": s.solver,
        "solver_version": s.solver_version or None,
        "givens": sorted(s.givens),
        "status": {
            "stop": s.status.stop,
            "feasible": s.status.feasible,
            "violation": s.status.violation,
            "bound_valid": s.bound_grade == "proved",
            "raw": s.status.raw,
        },
        "objective": s.objective,
        "objective_grade": s.objective_grade,
        "bound": s.bound,
        "bound_grade": s.bound_grade,
        "survived": s.survived if s.bound_grade == "claimed" else None,
        "gap": finite(s.gap),
        "gap_grade": s.gap_grade,
        **({"gap_is": s.kind_of_gap} if s.kind_of_gap else {}),
        **derived,
        "sense": s.sense,
        "value": s.value,
        "error": s.error,
        "error_grade": s.error_grade,
        "error_bound": s.error_bound,
        "error_bound_grade": s.error_bound_grade,
        "error_gap": finite(s.error_gap),
        "error_gap_grade": s.error_gap_grade,
        "own_sensitivity": s.own_sensitivity,
        **({} if s.strategy.neighbours == ADD_REMOVE else {"neighbours": str(s.strategy.neighbours)}),
        "sensitivity": s.sensitivity,
        "privacy_cost": s.privacy_cost if s.covariance is not None else None,
        "profile": _profile(s) if s.covariance is not None and is_listed else None,
        "rmse": s.rmse,
        "iterations": s.iterations,
        "seconds": dict(s.seconds),
        "options": {k: finite(v) for k, v in s.options.items()},
        "reductions": list(s.reductions),
        "components": components,
        "warnings": list(s.warnings),
        "history": [dict(row) for row in s.history],
        "workload": s.workload_hash,
        "steps": {name: step.summary() for name, step in s.steps.items()},
    }
    return fields if s.has_strategy else {name: v for name, v in fields.items() if name not in OF_STRATEGY}


def _profile(s: Solution) -> Any:
    """Cell by cell, or the orbits of cells with their sizes."""
    values, sizes = (part.tolist() for part in levels(s.profile))
    return {"values": values, "cells": sizes} if isinstance(s.profile, Level) else values


def _solver_words(solution: Solution) -> str:
    """Name, version, iterations ("-" where unrecorded); a closed form and a given point have only a name."""
    if solution.solver in (Stop.CLOSED, "given"):
        return str(solution.solver)
    iterations = "-" if solution.iterations is None else solution.iterations
    return f"{solution.solver} {solution.solver_version or '-'}, {iterations} iterations"


def finite(number: float | int | bool | str | None) -> float | int | bool | str | None:
    """The value for JSON, which has no infinity: None in its place."""
    return None if isinstance(number, float) and not np.isfinite(number) else number
