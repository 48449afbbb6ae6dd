"""What a sub-workload gains, and the others lose, as its weight grows: one certified solve per weight.

Source: the third source's slides, "Tuning workload error" (one part, the other, and c * part + all).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.pipeline.assemble import rmse
from mmopt.pipeline.convex import Report
from mmopt.pipeline.solve import solve
from mmopt.queries import Workload
from mmopt.queries.subworkloads import only, rest_of, subworkloads, weighted
from mmopt.results import Solution

__all__ = ["EVERYTHING", "Tuned", "tune", "tuned_parts"]

EVERYTHING = "everything"
REST = "the rest"
WEIGHTS = (1.0, 4.0, 16.0)


@dataclass(frozen=True, eq=False)
class Tuned:
    """One strategy of a tuning.

    optimised : what it was optimised for, in words. factor : of the sub-workload's weight; None where it
    or the rest was optimised alone. solution : certified for that.
    rmse : by part of the workload (``EVERYTHING``, each sub-workload, ``the rest``) the root mean square
    error per unweighted query, for unit noise per unit of sensitivity; only of what was optimised for.
    """

    optimised: str
    factor: float | None
    solution: Solution
    rmse: Mapping[str, float]

    def summary(self) -> dict[str, object]:
        """Plain data for JSON."""
        found = self.solution
        return {
            "optimised": self.optimised,
            "factor": self.factor,
            "rmse": dict(self.rmse),
            "objective": found.objective,
            "bound": found.bound,
            "gap": found.gap,
        }


def tune(
    workload: Workload,
    name: str,
    factors: Sequence[float] = WEIGHTS,
    program: str | Path | Program = "l2_strategy",
    *,
    progress: Callable[[str], Report | None] | None = None,
    **options: Any,
) -> Iterator[Tuned]:
    """Strategies for a sub-workload alone, the rest alone, and everything with its weight multiplied.

    Parameters
    ----------
    workload : with products of that sub-workload (``Product.subworkload``, ``subworkload:`` in a file).
    name : of the sub-workload.
    factors : of the weights of its queries, which multiply squared errors; positive.
    program : one that minimises total error; targets are not read.
    progress : called with what is solved next, gives the report of that solve.
    options : of ``mmopt.solve``.

    Raises
    ------
    mmopt.Error : no such sub-workload, a factor that is not positive, or what ``solve`` raises; before
        anything is solved where that can be known.
    """
    part, rest = only(workload, name), rest_of(workload, name)
    if name in (EVERYTHING, REST):
        raise OptionError(f"the sub-workload is called '{name}', a word of the table", hint="rename it")
    changed = [(factor, weighted(workload, {name: factor})) for factor in factors]
    cases: list[tuple[str, float | None, Workload, Mapping[str, Workload]]] = [
        (f"{name} alone", None, part, {name: part})
    ]
    if rest is not None:
        cases.append(("the rest alone", None, rest, {REST: rest}))
    parts = tuned_parts(workload, name)
    cases += [(_words(name, factor), factor, case, parts) for factor, case in changed]
    return _solved(cases, program, progress, options)


def tuned_parts(workload: Workload, name: str) -> dict[str, Workload]:
    """What errors are stated of: everything, each sub-workload, what is not in the sub-workload named."""
    parts = {EVERYTHING: workload, **{part: only(workload, part) for part in subworkloads(workload)}}
    rest = rest_of(workload, name)
    return parts if rest is None else {**parts, REST: rest}


def _solved(
    cases: Sequence[tuple[str, float | None, Workload, Mapping[str, Workload]]],
    program: str | Path | Program,
    progress: Callable[[str], Report | None] | None,
    options: Mapping[str, Any],
) -> Iterator[Tuned]:
    for words, factor, case, parts in cases:
        solution = solve(case, program, progress=progress and progress(words), **options)
        errors = {part: rmse(solution.strategy, asked) for part, asked in parts.items()}
        yield Tuned(words, factor, solution, errors)


def _words(name: str, factor: float) -> str:
    return EVERYTHING if factor == 1.0 else f"{name} × {factor:g}"
