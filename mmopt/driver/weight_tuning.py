"""What a sub-workload gains, and the others lose, as its weight grows: one certified solve per weight.

Source: the third source's slides, "Tuning workload error" (one part, the other, and c * part + all).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmopt.driver.solve import solve
from mmopt.driver.solve_plan import Report
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.notebook import Tabular
from mmopt.numerics.outward import rounded
from mmopt.request import WorkloadLike, as_workload
from mmopt.results import gap_between
from mmopt.stop_reasons import Stop
from mmopt.strategies import StrategyForm
from mmopt.workloads import Workload
from mmopt.workloads.workload_variants import only, rest_of, subworkloads, weighted

__all__ = ["EVERYTHING", "FoundStrategy", "Tuned", "tune", "tuned", "tuned_parts"]

EVERYTHING = "everything"
REST = "the rest"
DEFAULT_FACTORS = (1.0, 4.0, 16.0)


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Tabular):
    """One strategy of a tuning.

    optimised : what it was optimised for, in words. factor : of the sub-workload's weight; None where it
    or the rest was optimised alone. strategy : for that; error, bound : its total error, weighted, and the
    bound proved with it (None without one).
    rmse : by part of the workload (``EVERYTHING``, each sub-workload, ``the rest``) the root mean square
    error per unweighted query, for unit noise per unit of sensitivity; only of what was optimised for.
    """

    optimised: str
    factor: float | None
    strategy: StrategyForm
    error: float
    bound: float | None
    rmse: Mapping[str, float]

    @property
    def gap(self) -> float | None:
        """error / bound - 1, or None without a bound."""
        return gap_between(self.error, self.bound)

    def __repr__(self) -> str:
        gap = "no bound" if self.gap is None else f"gap {rounded(self.gap, 2, up=True)}"
        return f"Tuned({self.optimised}: total error {self.error:.6g}, {gap})"

    def summary(self) -> dict[str, object]:
        """Plain data for JSON."""
        return {
            "optimised": self.optimised,
            "factor": self.factor,
            "rmse": dict(self.rmse),
            "error": self.error,
            "bound": self.bound,
            "gap": self.gap,
        }


@dataclass(frozen=True, eq=False)
class FoundStrategy:
    """A strategy with its total error, weighted, and a bound on every strategy's."""

    strategy: StrategyForm
    error: float
    bound: float | None


def tune(
    workload: WorkloadLike,
    name: str,
    factors: Sequence[float] = DEFAULT_FACTORS,
    program: str | Path | Program = "l2_strategy",
    *,
    progress: Callable[[str], Report | None] | None = None,
    **options: Any,
) -> Iterator[Tuned]:
    """Strategies for a sub-workload alone, the rest alone, and everything with its weight multiplied.

    Parameters
    ----------
    workload : as for ``solve``, with products of that sub-workload (``Product.subworkload``,
        ``subworkload:`` in a file).
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

    def solved(case: Workload, words: str) -> FoundStrategy:
        found = solve(case, program, progress=progress and progress(words), **options)
        if found.status.stop.startswith(Stop.INTERRUPTED):
            raise KeyboardInterrupt
        return FoundStrategy(found.strategy, found.error, found.error_bound)

    return tuned(as_workload(workload), name, factors, solved)


def tuned(
    workload: Workload, name: str, factors: Sequence[float], solved: Callable[[Workload, str], FoundStrategy]
) -> Iterator[Tuned]:
    """As ``tune``, with any way to solve: ``solved`` is called with a workload and words for it."""
    part, rest = only(workload, name), rest_of(workload, name)
    if name in (EVERYTHING, REST):
        raise OptionError(f"the sub-workload is called '{name}', a word of the table", hint="rename it")
    changed = [(factor, weighted(workload, {name: factor})) for factor in factors]
    cases: list[_Case] = [(f"{name} alone", None, part, {name: part})]
    if rest is not None:
        cases.append(("the rest alone", None, rest, {REST: rest}))
    parts = tuned_parts(workload, name)
    words = (EVERYTHING if factor == 1.0 else f"{name} × {factor:g}" for factor in factors)
    cases += [(text, factor, case, parts) for text, (factor, case) in zip(words, changed, strict=True)]
    return _solved(cases, solved)


_Case = tuple[str, float | None, Workload, Mapping[str, Workload]]


def tuned_parts(workload: Workload, name: str) -> dict[str, Workload]:
    """What errors are stated of: everything, each sub-workload, what is not in the sub-workload named."""
    parts = {EVERYTHING: workload, **{part: only(workload, part) for part in subworkloads(workload)}}
    rest = rest_of(workload, name)
    return parts if rest is None else {**parts, REST: rest}


def _solved(cases: Sequence[_Case], solved: Callable[[Workload, str], FoundStrategy]) -> Iterator[Tuned]:
    for words, factor, case, parts in cases:
        found = solved(case, words)
        errors = {part: found.strategy.rmse(asked) for part, asked in parts.items()}
        yield Tuned(words, factor, found.strategy, found.error, found.bound, errors)
