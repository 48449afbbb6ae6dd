"""A solution for a reader: rows of a table, and one JSON object."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np

from mmopt.numerics.outward import rounded
from mmopt.numerics.split_arrays import Array, Level
from mmopt.results.component_storage import Value
from mmopt.strategies import ComponentStrategy

__all__ = ["error_rows", "finite", "levels", "rows", "summary"]

Solution = Any  # of either kind; their files import this one


SHOWN_REPEATS = 10  # of a step that was repeated more often only the last is shown


def rows(solution: Solution) -> list[tuple[str, str]]:
    """What a reader wants to see first, as (name, text)."""
    s, up = solution, solution.sense == "minimize"
    bound, whose, side = (
        "no bound",
        "for the givens passed" if s.givens else "by the program's author",
        "below" if up else "above",
    )
    if s.bound is not None:
        tested = f", {whose}; {_survived(s)}" if s.bound_grade == "claimed" else ""
        bound = rounded(s.bound, 10, up=not up)
        bound += f"   ({s.bound_grade}: no feasible point is {side} it{tested})"
    scaled = ""
    if s.own_sensitivity is not None and s.covariance is None:
        scaled = f", scaled from {rounded(s.own_sensitivity, 6, up=True)}"
    found = [
        ("program", f"{s.program}: {s.title}"),
        ("solver", _solver_words(s)),
        *((("givens", f"{', '.join(s.givens)}: passed; objective and bound are for them"),) * bool(s.givens)),
        *((("reduced", "; ".join(s.reductions)),) if s.reductions else ()),
        *(
            (("not dense", _components_words(s.strategy)),)
            if isinstance(s.strategy, ComponentStrategy)
            else ()
        ),
        ("status", str(s.status)),
        ("objective", f"{rounded(s.objective, 10, up=up)}   ({s.objective_grade})"),
        ("bound", bound),
        ("gap", "none" if s.gap is None else f"{rounded(s.gap, 3, up=True, layout='e')}   ({s.gap_grade})"),
        *(_privacy_rows(s) if s.covariance is not None else ()),
        *error_rows(s, scaled),
        ("sensitivity", f"{rounded(s.sensitivity, 10, up=True)}   (rounded up)"),
        ("seconds", ", ".join(f"{name} {t:.2f}" for name, t in s.seconds.items())),
    ]
    for name, step in _few(s.steps).items():
        bound, up = "no bound", step.sense == "minimize"
        if step.bound is not None:
            gap = f"gap {rounded(step.gap, 2, up=True, layout='e')} ({step.gap_grade})"
            bound = f"bound {rounded(step.bound, 10, up=not up)} ({step.bound_grade}), {gap}"
        objective = f"objective {rounded(step.objective, 10, up=up)} ({step.objective_grade})"
        found.append((f"step {name}", f"{step.program}: {objective}, {bound}"))
    return found + [("warning", text) for text in s.warnings]


def error_rows(s: Solution, scaled: str = "", by: str = "") -> list[tuple[str, str]]:
    """What a strategy's error is, and how far above the bound; ``scaled``, ``by``: what is said besides."""
    total, bound = rounded(s.error, 10, up=True), rounded(s.error_bound, 10, up=False)
    return [
        ("total error", f"{total}   ({s.error_grade}; at unit noise and sensitivity 1{scaled})"),
        ("error bound", f"{bound}   ({s.error_bound_grade}; over all strategies{by})"),
        ("error gap", f"{rounded(s.error_gap, 3, up=True, layout='e')}   ({s.error_gap_grade})"),
        ("rmse", f"{rounded(s.rmse, 6, up=True)}   (per query, unweighted)"),
    ]


def _survived(s: Solution) -> str:
    points = f"{s.survived} feasible points, none of them repaired"
    return f"survived {points}" if s.survived else "not tested"


def _few(steps: Mapping[str, Solution]) -> dict[str, Solution]:
    """The steps; of one that was repeated often only the last."""
    repeats = Counter(_name(name) for name in steps)
    return {
        name: step
        for name, step in steps.items()
        if repeats[_name(name)] <= SHOWN_REPEATS or name == f"{_name(name)} {repeats[_name(name)]}"
    }


def _name(step: str) -> str:
    """Without the number of a step that was repeated."""
    return step.partition(" ")[0]


def levels(value: Value) -> tuple[Array, Array]:
    """The values of a vector, and how many of its entries have each: 1, or the sizes of the orbits."""
    if isinstance(value, Level):
        assert value.space.sizes is not None
        return np.asarray(value.values), value.space.sizes
    return np.asarray(value), np.ones(np.shape(value))


def _privacy_rows(s: Solution) -> list[tuple[str, str]]:
    cost = s.privacy_cost
    profile, sizes = levels(s.profile)
    free = int(sizes[levels(s.slack)[0] > 0].sum())
    words = f"Δ² at {_count(s.strategy.n - free)} of {_count(s.strategy.n)} cells"
    if free:
        least = rounded(profile.min() / cost**2, 4, up=True)
        words += f", down to {least} Δ² (cells with slack: {_count(free)})"
    rho = rounded(cost**2 / 2, 6, up=True)
    return [("privacy cost", f"Δ = {rounded(cost, 6, up=True)}, ρ = Δ²/2 = {rho}"), ("profile", words)]


def _count(number: int) -> str:
    """Plain digits as ever below a million."""
    return f"{number}" if number < 10**6 else f"{float(number):.6g}"


def _components_words(strategy: Any) -> str:
    """How a strategy splits, and the size of what is never formed."""
    n, p = strategy.n, strategy.p
    gigabytes = 8.0 * float(n) * float(p) / 2**30
    size = f"{gigabytes:,.1f}" if gigabytes < 1e6 else f"{gigabytes:.1e}"
    return (
        f"strategy by component ({strategy.cells.words}); "
        f"as a matrix {_count(p)} × {_count(n)} it would take {size} GiB"
    )


def summary(solution: Solution) -> dict[str, Any]:
    """The figures as one JSON object."""
    s = solution
    return {
        "program": s.program,
        "solver": s.solver,
        "solver_version": s.solver_version,
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
        "sense": s.sense,
        "value": s.value,
        "error": s.error,
        "error_grade": s.error_grade,
        "error_bound": s.error_bound,
        "error_bound_grade": s.error_bound_grade,
        "error_gap": finite(s.error_gap),
        "error_gap_grade": s.error_gap_grade,
        "own_sensitivity": s.own_sensitivity,
        "sensitivity": s.sensitivity,
        "privacy_cost": s.privacy_cost if s.covariance is not None else None,
        "profile": _profile(s) if s.covariance is not None else None,
        "rmse": s.rmse,
        "iterations": s.iterations,
        "seconds": dict(s.seconds),
        "options": {k: finite(v) for k, v in s.options.items()},
        "reductions": list(s.reductions),
        "components": _components(s),
        "warnings": list(s.warnings),
        "history": [dict(row) for row in s.history],
        "workload": s.workload_hash,
        "steps": {name: step.summary() for name, step in s.steps.items()},
    }


def _profile(s: Solution) -> Any:
    """Cell by cell, or the orbits of cells with their sizes."""
    values, sizes = levels(s.profile)
    if not isinstance(s.profile, Level):
        return values.tolist()
    return {"values": values.tolist(), "cells": sizes.tolist()}


def _components(s: Solution) -> dict[str, int] | None:
    if not isinstance(s.strategy, ComponentStrategy):
        return None
    cells = s.strategy.cells
    return {"orbits": len(cells.sizes), "components": cells.count, "largest": cells.largest}


def _solver_words(solution: Solution) -> str:
    """Name and version; a closed form or a given strategy has neither version nor iterations."""
    if not solution.solver_version:
        return str(solution.solver)
    return f"{solution.solver} {solution.solver_version}, {solution.iterations} iterations"


def finite(number: float | int | bool | str | None) -> float | int | bool | str | None:
    """JSON has no infinity."""
    return None if isinstance(number, float) and not np.isfinite(number) else number
