"""Warnings beside a solution: what it falls short of, and what to change."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from mmopt.compiler import Instance, Scaling, cones
from mmopt.compiler.scale import disagreement
from mmopt.driver.judge.values import plain
from mmopt.driver.judge.violations import worst_line
from mmopt.language.evaluate.by_component import splits
from mmopt.numerics.numpy_forms import Array
from mmopt.numerics.outward import rounded
from mmopt.results import Status
from mmopt.solvers import SOLVERS, Claim, Options, SolverRow, missing_cones

__all__ = ["stopped_early", "unscaled"]

# A violation of the solver's point below this is not worth a word: the repair charges it.
WORTH = 1e-4


def unscaled(instance: Instance, scaling: Scaling) -> tuple[str, ...]:
    """Which line keeps the program from being scaled; nothing when it was."""
    if scaling.scales:
        return ()
    line = disagreement(instance)
    where = "the objective" if line == "objective" else f"'{line}'"
    return (
        f"the lines of the program agree on no units, so it was not scaled: {where} is the first that does "
        "not scale with those before it (numbers added to givens, or powers that do not match)",
    )


def stopped_early(
    instance: Instance,
    row: SolverRow | Claim,
    options: Options,
    status: Status,
    gap: float,
    values: Mapping[str, Array],
) -> tuple[str, ...]:
    """Why the solve ended before its tolerance and what to change; nothing when it did not.

    ``values`` is the solver's point before the repair.
    """
    asked = f"{options.tolerance:.0e}"
    reached = (
        f"the gap is {rounded(gap, 2, up=True, layout='e')}, {asked} was asked for"
        if np.isfinite(gap)
        else f"a gap of {asked} was not reached"  # a bound of another program may come later
    )
    wider = rounded(max(gap, 1e-15), 1, up=True, layout="e")
    less = f", or ask for a tolerance of {wider}" if gap < 0.5 else ""
    if status.stop == "time limit":
        text = f"stopped at the time limit of {options.time_limit:g} s: {reached}; allow more time{less}"
    elif status.stop == "iteration limit":
        own = "" if options.max_iterations is None else f" of {options.max_iterations}"
        text = f"stopped at the iteration limit{own}: {reached}; allow more{less}"
    elif status.stop == "interrupted":
        text = f"interrupted: {reached}; let it run longer{less}"
    elif status.stop == "gap not reached":
        others = _others(instance, row)
        text = f"{row.name} got no further: {reached}; try {others}{less}"
    else:
        return ()
    line = worst_line(instance, plain(values))
    if line is not None and line.amount > WORTH:
        text += f"; before its repair the point missed {line.text(instance)} by {line.amount:.1e}"
    return (text,)


def _others(instance: Instance, row: SolverRow | Claim) -> str:
    if splits(instance.env):  # no other solver works by component
        return "another formulation"
    needed = cones(instance.checked, instance.sizes())
    rows = [r for r in SOLVERS if r.is_installed and not missing_cones(r, needed)]
    names = [r.name for r in rows if r.name != row.name]
    return f"another solver ({', '.join(names)})" if names else "another formulation"
