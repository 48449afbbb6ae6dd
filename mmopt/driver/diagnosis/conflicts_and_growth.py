"""What is found out of a program without a solution: which lines conflict, or what grows without end.

Where lines cannot hold together it seeks the fewest that conflict, and what it takes to make room.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from mmopt.compiler import Instance, Scaling
from mmopt.driver.diagnosis.elastic_form import Ground, Kept, RelaxableLine, build, everything, points, probe
from mmopt.driver.judge.score_point import FEASIBLE
from mmopt.driver.judge.violations import violations
from mmopt.language import evaluate
from mmopt.language.syntax.syntax_tree import Declaration
from mmopt.numerics.arrays import Array
from mmopt.numerics.matrix_functions import eigh
from mmopt.solvers import Clock, Proof

# A relaxation is stated with three digits, rounded up after this much, so that there is room inside.
ROOM_INSIDE = 2e-3
SLACK_THAT_COUNTS = 1e-6  # relatively: a slack that counts as one, a change of the objective that does
REACH_OF_PROOF = 1e10  # how far the final proof should reach
MOST_PROBES = 60  # elastic programs solved to find the smallest set
MOST_ROWS_APART = 8  # of a line are looked at one by one, if they conflict by themselves

T = TypeVar("T")


@dataclass(frozen=True)
class Relaxation:
    """What a line has to give: its limit times ``amount`` (``how`` "factor"), or a miss of ``amount``."""

    name: str
    kind: str
    how: str
    amount: float


@dataclass(frozen=True)
class Conflict:
    """Lines that cannot hold together: by key the rows (None: the whole line), with the proof.

    ``minimal`` says that, as far as was found, the lines hold when any one of them is left out. ``each``
    has, per line, what makes room when it alone gives way; ``all`` what has to give when none alone does.
    """

    rows: Kept
    proof: Proof
    minimal: bool
    each: tuple[Relaxation, ...]
    all: tuple[Relaxation, ...]


def smallest(items: Sequence[T], fails: Callable[[Sequence[T]], bool]) -> list[T]:
    """A subset that fails while, without any one item, it was not seen to fail; earlier items first.

    QuickXplain (Junker 2004): about 2 k log(len / k) calls for a subset of k. All items together have to
    fail. ``fails`` may miss a failure; the subset fails all the same and may then be too large.
    """

    def search(background: list[T], is_new: bool, rest: list[T]) -> list[T]:
        if is_new and fails(background):
            return []
        if len(rest) == 1:
            return rest
        first, second = rest[: len(rest) // 2], rest[len(rest) // 2 :]
        from_second = search([*background, *first], True, second)
        from_first = search([*background, *from_second], bool(from_second), first)
        return [*from_first, *from_second]

    return search([], False, list(items))


@dataclass
class _Search:
    """The filter over the lines of one program, as long as the clock and ``MOST_PROBES`` let it."""

    ground: Ground
    clock: Clock
    size: float
    left: int = MOST_PROBES

    @property
    def is_over(self) -> bool:
        return self.clock.is_over or self.left <= 0

    def fails(self, kept: Kept) -> bool:
        if self.is_over or not kept:
            return False
        self.left -= 1
        found = probe(self.ground, kept, self.clock, size=self.size)
        return found is not None and found.proof is not None

    def keys(self) -> list[str]:
        return smallest(list(self.ground.parts), lambda keys: self.fails(dict.fromkeys(keys)))

    def rows(self, key: str, others: Kept, weights: Array) -> tuple[int, ...] | None:
        """The fewest rows of a line that fail with the others, of ``MOST_ROWS_APART``; None: not found."""

        def fails(rows: Sequence[int]) -> bool:
            return self.fails({**others, key: tuple(sorted(rows))} if rows else others)

        # Rows that weigh the same to three digits are taken in their order.
        heavy = np.round(weights / max(float(weights.max(initial=0.0)), 1e-300), 3)
        order = [int(i) for i in np.argsort(-heavy, kind="stable")]
        few = 1
        while not fails(order[:few]):
            few *= 2
            if few > MOST_ROWS_APART or few >= 2 * len(order) or self.is_over:
                return None
        found = smallest(order[:few], fails)
        return tuple(sorted(found)) if len(found) < len(order) else None


def find_conflict(ground: Ground, scaling: Scaling, clock: Clock) -> Conflict | None:
    """A proved conflict among the lines, or None where none was found (in the time of ``clock``)."""
    whole = everything(ground)
    first = probe(ground, whole, clock)
    if first is None or first.proof is None:
        return None
    search = _Search(ground, clock, first.size)
    rows: dict[str, tuple[int, ...] | None] = dict.fromkeys(search.keys())
    minimal = not search.is_over
    each = [r for key in rows for r in _relaxations(ground, scaling, clock, [key])]
    together = [] if each else _relaxations(ground, scaling, clock, list(whole))
    proof: Proof | None = None
    for key in list(rows):
        found = probe(ground, rows, clock, size=first.size)
        if found is not None and found.proof is not None:
            proof = found.proof
            if ground.parts[key].count > 1:
                others = {k: r for k, r in rows.items() if k != key}
                rows[key] = search.rows(key, others, found.weights[key])
    last = probe(ground, rows, clock, size=first.size, reach=REACH_OF_PROOF)
    if last is not None and last.proof is not None:
        proof = last.proof
    elif proof is None:  # no time was left to prove it for fewer
        rows, proof = whole, first.proof
    return Conflict(rows, proof, minimal, tuple(each), tuple(together))


def _relaxations(ground: Ground, scaling: Scaling, clock: Clock, loose: list[str]) -> list[Relaxation]:
    """What the lines have to give while all others hold; nothing when they do not, or it was not found."""
    found = probe(ground, everything(ground), clock, loose)
    if found is None or not found.is_least:
        return []
    return [
        _relaxation(ground.parts[key], amount, scaling)
        for key, amount in found.slack.items()
        if amount > SLACK_THAT_COUNTS
    ]


def _relaxation(part: RelaxableLine, slack: float, scaling: Scaling) -> Relaxation:
    slack *= 1.0 + ROOM_INSIDE
    if part.is_relative and part.rises:
        return Relaxation(part.name, part.kind, "factor", _rounded(1.0 + slack, math.ceil))
    if part.is_relative and slack < 1.0:
        return Relaxation(part.name, part.kind, "factor", _rounded(1.0 - slack, math.floor))
    known: Mapping[str, float] = scaling.variables
    if part.kind == "constraint":
        known = {name: scaling.objective / m for name, m in scaling.multipliers.items()}
    amount = slack * float(np.max(part.unit)) * known.get(part.name, 1.0)
    return Relaxation(part.name, part.kind, "amount", _rounded(amount, math.ceil))


def _rounded(value: float, way: Callable[[float], int]) -> float:
    """Three digits, up or down."""
    power = 2 - math.floor(math.log10(value))
    return way(value * 10.0**power) / 10.0**power


# The program is solved with all entries below each of these (in the scale of the compiler), and the
# difference of the two points is the direction that is tried.
BOXES = (1e2, 1e4)
# How far along the direction the program is evaluated. Lines may speak of entries that are as large as FAR.
FAR = (1e16, 1e32, 1e64, 1e100)
STEPS_ALONG = (*(10.0**k for k in range(3, 9)), *FAR)
NOISE_OF_DIRECTION = 1e-4  # entries and eigenvalues of the direction below this part of the largest are zero


@dataclass(frozen=True)
class Growth:
    """A direction in which every constraint holds while the objective gets better at every step.

    directions : by name, of the variables that have to move; in the program's own units.
    first, last : the objective at the shortest and at the longest step.
    reach : the largest entry at the longest step: what lies beyond was not looked at.
    """

    directions: Mapping[str, Array]
    first: float
    last: float
    reach: float


def find_growth(ground: Ground, instance: Instance, scaling: Scaling, clock: Clock) -> Growth | None:
    """A direction of growth, evaluated on the program itself; None when none was found."""
    ends = []
    for box in BOXES:
        found = None
        boxed = build(ground, everything(ground), {}, objective=ground.base.objective, box=box)
        for point in points(boxed, clock):
            found = point.variables if len(point.variables) >= len(ground.base.choose) else found
        if found is None:
            return None
        ends.append(found)
    first, second = ends
    moved = {d.name: second[d.name] - first[d.name] for d in ground.base.choose}
    longest = max(float(np.abs(v).max(initial=0.0)) for v in moved.values())
    if longest == 0.0:
        return None
    factor = scaling.variables
    start = {d.name: first[d.name] * factor[d.name] for d in ground.base.choose}
    direction = {d.name: _clean(d, moved[d.name] / longest) * factor[d.name] for d in ground.base.choose}
    whole = _along(instance, start, direction)
    if whole is None:
        return None
    for name in list(direction):
        fewer = {**direction, name: np.zeros_like(direction[name])}
        values = _along(instance, start, fewer)
        if values is not None:
            direction, whole = fewer, values
    return Growth(
        {n: v for n, v in direction.items() if v.any()}, *ends_of(whole, start, direction, STEPS_ALONG)
    )


def ends_of(
    found: Sequence[float], start: Mapping[str, Array], direction: Mapping[str, Array], steps: Sequence[float]
) -> tuple[float, float, float]:
    """The objective at the first and the last step, and the largest entry there."""
    largest = max(float(np.abs(start[n] + steps[-1] * direction[n]).max(initial=0.0)) for n in start)
    return found[0], found[-1], largest


def _clean(d: Declaration, value: Array) -> Array:
    """The direction without what is noise of the solver."""
    if d.kind == "psd":
        values, vectors = eigh(value)
        values = np.where(values < NOISE_OF_DIRECTION * np.abs(values).max(initial=0.0), 0.0, values)
        value = (vectors * values) @ vectors.T
    return np.asarray(np.where(np.abs(value) < NOISE_OF_DIRECTION, 0.0, value))


def _along(
    instance: Instance, start: Mapping[str, Array], direction: Mapping[str, Array]
) -> tuple[float, ...] | None:
    """The objective at every step, when it gets better each time and every line holds; else None."""
    found = objectives(instance, start, direction, STEPS_ALONG)
    return found if found is not None and gets_better(found, instance.program.sense) else None


def gets_better(values: Sequence[float], sense: str) -> bool:
    """Whether each is better than the one before; a fall that is a rounding error is none."""
    sign = 1.0 if sense == "minimize" else -1.0
    return all(sign * (a - b) > SLACK_THAT_COUNTS * abs(b) for a, b in itertools.pairwise(values))


def objectives(
    instance: Instance, start: Mapping[str, Array], direction: Mapping[str, Array], steps: Sequence[float]
) -> tuple[float, ...] | None:
    """The objective at so many steps from a point, where every line holds at each; else None."""
    found: list[float] = []
    for step in steps:
        point: dict[str, Any] = {n: start[n] + step * direction[n] for n in start}
        point = {n: v if np.ndim(v) else float(v) for n, v in point.items()}
        try:
            missed = max([0.0, *(v.amount for v in violations(instance, point))])
            value = float(evaluate(instance.program.objective, {**instance.env, **point}))
        except np.linalg.LinAlgError:
            return None
        if not np.isfinite(value) or missed > FEASIBLE:
            return None
        found.append(value)
    return tuple(found)
