"""The cells of a row space as a space that programs are evaluated on: neither they nor orbits are listed.

Its coordinates are the functions of the cells that the queries are made of, by component.

A program asks for the largest entry of a diagonal several times: of a point, of it repaired, of it rounded
to a symmetric matrix, of a factor. These are nearly multiples of each other, and what is known of one serves
the next: with N = c N₀ + D, f(x) <= c max f₀ + Σ μ ‖D_κ‖ tr Q_κ(x) <= c max f₀ + max ‖D_κ‖ (Frobenius) · the
longest ‖b(x)‖².
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mmopt.limits import time_left
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import GROW
from mmopt.numerics.spanned_cells import Moments, Spanned
from mmopt.sectors.bounds.moment_roots import moments_of
from mmopt.sectors.measures import Mixture
from mmopt.sectors.residual.residual_bases import best_residual_strategy
from mmopt.sectors.residual.residual_parts import residual_parts
from mmopt.sectors.row_space import RowSpace
from mmopt.workloads import Workload

__all__ = ["SECONDS_OF_LARGEST", "SectorCells"]

SECONDS_OF_LARGEST = 60.0
LEAST_SECONDS = 1.0  # when the time is over
# A diagonal that is so near to a known multiple is not searched again; in relation to its largest entry.
NEAR_MULTIPLE = 1e-9
MOST_KNOWN = 8


@dataclass(frozen=True, eq=False, repr=False)
class SectorCells(Spanned):
    """The n = ``total`` cells of a workload, as far as its row space tells them apart.

    rows : the row space, of ``workload``. seconds : that the largest entry of a diagonal may be searched for.
    """

    rows: RowSpace = field(kw_only=True)
    workload: Workload = field(kw_only=True)
    seconds: float = SECONDS_OF_LARGEST
    _known: list[tuple[tuple[Array, ...], float]] = field(default_factory=list, init=False)

    @staticmethod
    def of(rows: RowSpace, workload: Workload, seconds: float = SECONDS_OF_LARGEST) -> SectorCells:
        """The cells of a workload with this row space."""
        space, n = rows.space, workload.n
        return SectorCells(
            space.multiplicities, space.dims, total=n, rows=rows, workload=workload, seconds=seconds
        )

    @property
    def first_strategy(self) -> tuple[Array, ...]:
        """N of the best residual strategy, which is quickly found."""
        return residual_parts(self.rows, best_residual_strategy(self.workload))

    @property
    def words(self) -> str:
        """How it splits: "406 functions of the cells, 1 component of size up to 406"."""
        count = f"{self.count:,} component{'' if self.count == 1 else 's'}"
        return f"{self.kept:,} functions of the cells, {count} of size up to {self.largest:,}"

    @property
    def rounding(self) -> float:
        return self.rows.root_rounding

    @cached_property
    def longest(self) -> float:
        return self.rows.longest

    def takes(self, mixture: Mixture) -> bool:
        return self.rows.takes(mixture)

    def moments(self, mixture: Mixture) -> Moments:
        return moments_of(self.rows, mixture)

    def note(self, parts: Sequence[Array], upper: float) -> None:
        """That ``rows.largest`` has proved an upper end for these parts."""
        del self._known[: max(0, len(self._known) + 1 - MOST_KNOWN)]
        self._known.append((tuple(parts), upper))

    def largest_entry(self, parts: Sequence[Array]) -> float:
        found = min((self._from(*known, parts) for known in self._known), default=math.inf)
        if not found < math.inf:
            seconds = min(self.seconds, max(time_left(), LEAST_SECONDS))
            found = self.rows.largest(parts, seconds).upper
            self.note(parts, found)
        return found

    def _from(self, known: Sequence[Array], upper: float, parts: Sequence[Array]) -> float:
        """At least the largest entry, from that of known parts; infinity where they are no near multiple."""
        often, pairs = self.multiplicities, list(zip(known, parts, strict=True))
        size = float(often @ np.array([float(np.vdot(own, own)) for own, _ in pairs]))
        factor = float(often @ np.array([float(np.vdot(*pair)) for pair in pairs])) / size if size else 0.0
        if not 0 < factor < math.inf:
            return math.inf
        offs = [np.abs(new - factor * own) + EPS * (np.abs(new) + np.abs(factor * own)) for own, new in pairs]
        off = max(float(np.linalg.norm(own)) for own in offs) * self.longest * GROW
        return (factor * upper + off) * (1 + 4 * EPS) if off <= NEAR_MULTIPLE * factor * upper else math.inf
