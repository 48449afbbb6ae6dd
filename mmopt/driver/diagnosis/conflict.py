"""Which lines of a program cannot hold together: the smallest set found, and what it takes to make room."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from mmopt.compiler import Scaling
from mmopt.driver.diagnosis.elastic import Kept, everything, probe
from mmopt.driver.diagnosis.parts import Ground, Part
from mmopt.numerics.numpy_forms import Array
from mmopt.solvers import Clock, Proof

__all__ = ["Conflict", "Relaxation", "find_conflict", "smallest"]

# A relaxation is stated with three digits, rounded up after this much, so that there is room inside.
ROOM = 2e-3
MISSED = 1e-6  # a slack that counts as one
STRONG = 1e10  # how far the final proof should reach
PROBES = 60  # elastic programs solved to find the smallest set
ROWS = 8  # of a line are looked at one by one, if they conflict by themselves

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
    """The filter over the lines of one program, as long as the clock and ``PROBES`` let it."""

    ground: Ground
    clock: Clock
    size: float
    left: int = PROBES

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
        """The fewest rows of a line that fail with the others, of the ``ROWS`` heaviest; None: not found."""

        def fails(rows: Sequence[int]) -> bool:
            return self.fails({**others, key: tuple(sorted(rows))} if rows else others)

        # Rows that weigh the same to three digits are taken in their order.
        heavy = np.round(weights / max(float(weights.max(initial=0.0)), 1e-300), 3)
        order = [int(i) for i in np.argsort(-heavy, kind="stable")]
        few = 1
        while not fails(order[:few]):
            few *= 2
            if few > ROWS or few >= 2 * len(order) or self.is_over:
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
    last = probe(ground, rows, clock, size=first.size, reach=STRONG)
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
        if amount > MISSED
    ]


def _relaxation(part: Part, slack: float, scaling: Scaling) -> Relaxation:
    slack *= 1.0 + ROOM
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
