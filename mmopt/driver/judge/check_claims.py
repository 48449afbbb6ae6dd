"""Tests of an author's certificate: feasible points are sought whose objective is beyond its bound.

A shipped certificate is proved in its file. Any other is its author's claim, and is tested: feasible points
are drawn and searched without the program's ``repair``, which may pull every point to where the claim holds.
"""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from mmopt.compiler import Instance, is_shipped
from mmopt.driver.judge.score_and_meaning import (
    Candidate,
    charged,
    improves,
    refuted,
    scored,
)
from mmopt.errors import ContradictionError, Error
from mmopt.language import evaluate
from mmopt.language.syntax.syntax_tree import Declaration, Name, names_in
from mmopt.numerics.arrays import Array
from mmopt.numerics.component_arrays import as_value, each_array, is_structured, plain

# Points that are tried: WORK_OF_POINTS over the cube of the variables' side
WORK_OF_POINTS, FEWEST_POINTS, MOST_POINTS = 1e8, 12, 400
# Parts of an inner point that a point is mixed with
PARTS_OF_INNER = (0.0, 1e-9, 1e-7, 1e-5, 1e-3, 0.03, 0.3)
REPORT = "please report it with the command and its files"
# Factors by which variables are scaled, each the root of the one before
FIRST_FACTOR, LAST_FACTOR = 4.0, 1.0001


class RefutedError(ContradictionError):
    """A bound, and a feasible point whose objective is beyond it."""

    def __init__(
        self, instance: Instance, multipliers: Mapping[str, Any], bound: float, point: Candidate, origin: str
    ) -> None:
        """``multipliers``: of the bound; ``origin``: of the point, in words."""
        self.bound, self.multipliers, self.point = bound, multipliers, point
        program = instance.checked.written
        is_custom, spans = not is_shipped(instance.checked), dict(program.spans)
        side = "above" if program.sense == "minimize" else "below"
        super().__init__(
            f"the bound {bound:.10g} of '{program.name}' is {side} the objective {point.objective:.10g} of "
            f"{origin}, which is feasible",
            where=program.source.locate(spans["certificate" if program.certificate else "bound"])
            if is_custom
            else None,
            hint="the certificate is false, or a line is not what its proof takes it for"
            if is_custom
            else REPORT,
        )


@dataclass
class SoughtPoints:
    """Feasible points of an instance, none of them repaired; ``multipliers`` charge the misses of a point."""

    instance: Instance
    multipliers: Mapping[str, Any]
    rng: np.random.Generator
    left: int  # points that may still be tried

    def points(self, starts: Mapping[str, Mapping[str, Any]]) -> Iterator[tuple[str, Candidate]]:
        """A drawn point; ``starts`` by their origin, as they are or moved inside; then points by descent."""
        inner, best, sense = None, None, self.instance.program.sense
        reserved_points = max(FEWEST_POINTS, 3 * self.left // 4)  # for points that are better than drawn ones
        while starts and inner is None and self.left > reserved_points:
            inner = best = self._judged(self._drawn(next(iter(starts.values()))))
        if inner is not None:
            yield "a point drawn at random", inner
        for origin, values in starts.items():
            for part in PARTS_OF_INNER if inner is not None else PARTS_OF_INNER[:1]:
                mixed = {
                    n: v
                    if is_structured(v) or inner is None
                    else (1.0 - part) * v + part * inner.variables[n]
                    for n, v in values.items()
                }
                if (candidate := self._judged(mixed)) is not None:
                    yield f"{origin}, moved inside" if part else origin, candidate
                    is_better = best is None or improves(candidate.objective, best.objective, sense)
                    best = candidate if is_better else best
                    break
        for candidate in () if best is None else self._descent(best):
            yield "a point sought by descent", candidate

    def _judged(self, values: Mapping[str, Any]) -> Candidate | None:
        """The point, if it is feasible, with variables set by equations that define them."""
        self.left -= 1
        with suppress(Error, np.linalg.LinAlgError):  # no value there
            candidate = charged(
                self.instance, scored(self.instance, self._set_by_equations(values)), self.multipliers
            )
            return candidate if candidate.is_feasible else None
        return None

    @np.errstate(all="ignore")
    def _set_by_equations(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """The variables, each one set that a line equates to an expression of others; of two one not psd."""
        kinds, tied = {d.name: d.kind for d in self.instance.program.choose}, dict(values)
        for c in self.instance.program.constraints:
            sides = (c.relation.left, c.relation.right) if c.relation.op == "==" and c.family is None else ()
            ties = [
                (one.id, other)
                for one, other in zip(sides, sides[::-1], strict=True)
                if isinstance(one, Name) and one.id in kinds and one.id not in names_in(other)
            ]
            for name, other in sorted(ties, key=lambda tie: kinds[tie[0]] == "psd")[:1]:
                tied[name] = as_value(evaluate(other, {**self.instance.env, **plain(tied)}))
        return tied

    def _descent(self, best: Candidate) -> Iterator[Candidate]:
        """Variables scaled alone, together and against each other; entries scaled at random."""
        # Of the factor, by variable; (): entries at random.
        powers = [*filter(any, product((0.0, 1.0, -1.0), repeat=min(len(best.variables), 3))), (), ()]
        factor = FIRST_FACTOR
        while factor > LAST_FACTOR:
            improved = False
            for power in powers:
                if self.left <= 0:
                    return
                by = dict(zip(best.variables, power, strict=False))
                candidate = self._judged(
                    {n: self._scaled(v, factor, by.get(n, 0.0), not by) for n, v in best.variables.items()}
                )
                if candidate is not None:
                    yield candidate
                    if improves(candidate.objective, best.objective, self.instance.program.sense):
                        best, improved = candidate, True
            factor = factor if improved else factor**0.5

    def _scaled(self, value: Any, factor: float, power: float, alone: bool) -> Any:
        """The value times a power of the factor; ``alone``: its entries times random powers instead."""
        if not alone or is_structured(value):
            return each_array(value, lambda array: factor**power * array)
        side = factor ** (0.5 * self.rng.normal(size=np.shape(value)[:1]))
        is_square = np.ndim(value) == 2 and len(value) == len(value.T)
        return side[:, None] * value * side if is_square else (value.T * side).T  # psd stays psd

    def _drawn(self, near: Mapping[str, Any]) -> dict[str, Any]:
        """A point of the declared kinds, each variable at most a hundred times off the size of ``near``."""
        drawn = {}
        for d in self.instance.program.choose:
            value, factor = near[d.name], 10.0 ** self.rng.uniform(-2.0, 2.0)
            if not is_structured(value):
                factor *= float(np.abs(value).max(initial=0.0)) or 1.0
                value = draw_value(self.rng, d, np.shape(value))
            drawn[d.name] = self._scaled(value, factor, 1.0, alone=False)
        return drawn


def try_to_refute(
    instance: Instance, bound: float, multipliers: Mapping[str, Any], starts: Mapping[str, Mapping[str, Any]]
) -> int:
    """The number of feasible points that do not refute a bound; 0, not tested, if no drawn one is feasible.

    All others may be near the point of the author's repair.

    Raises
    ------
    RefutedError : one refutes it.
    """
    count, drawn, values = 0, False, [v for start in starts.values() for v in start.values()]
    entries = max((float(np.prod(getattr(v, "shape", ()))) for v in values), default=1.0)
    tried = int(np.clip(WORK_OF_POINTS / entries**1.5, FEWEST_POINTS + 1, MOST_POINTS))
    for origin, candidate in SoughtPoints(instance, multipliers, np.random.default_rng(0), tried).points(
        starts
    ):
        if refuted(candidate.objective, bound, instance.program.sense, candidate.after):
            raise RefutedError(instance, multipliers, bound, candidate, origin)
        count, drawn = count + 1, drawn or "drawn" in origin
    return count if drawn else 0


def draw_value(rng: np.random.Generator, d: Declaration, shape: tuple[int, ...]) -> Array:
    """A random value of a declared kind: standard normal entries, without sign where a sign is declared."""
    value = rng.normal(size=shape)
    if d.kind == "psd":
        return np.asarray(value.T @ value / len(value) + 0.1 * np.eye(len(value)))
    value = (value + value.T) / np.sqrt(2.0) if d.kind == "symmetric" else value
    return np.abs(value) if d.sign else np.asarray(value)
