"""The cells of a row space, a space on which programs are evaluated; neither cells nor orbits are listed.

Its coordinates are the functions of the cells that the queries are made of, by component. Not every workload
is worth such a space: ``why_not_of_few`` says why not.

A program needs the largest entry of a diagonal several times: of a point, of it repaired, of it rounded to a
symmetric matrix, of a factor. These are nearly multiples of each other, and the bound of one serves the next:
with N = c N₀ + D, f(x) <= c max f₀ + Σ μ ‖D_κ‖ tr Q_κ(x) <= c max f₀ + max ‖D_κ‖ (Frobenius) · the longest
‖b(x)‖².
"""

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from mmopt.errors import whole
from mmopt.limits import time_left
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import GROW
from mmopt.numerics.unlisted_cells import Moments, Spanned
from mmopt.sectors.bounds import moments_of
from mmopt.sectors.measures_and_profiles import Mixture
from mmopt.sectors.residual_strategies import best_residual_strategy, residual_parts
from mmopt.sectors.row_space import RowSpace
from mmopt.workloads import Workload

MOST_OF_A_ROW_SPACE = 4
"""Attributes that a query may look at: its functions are formed."""
# A row space of more than this part of the cells saves nothing: matrices are as large, its maxima dearer.
LARGEST_WORTHWHILE = 0.25
MOST_SECTORS = 10**6
"""Up to which they are counted for a message."""


def why_not_of_few(workload: Workload, most: int = MOST_OF_A_ROW_SPACE) -> str:
    """Why programs of a workload cannot be evaluated on the space of its queries; "" where they can.

    most : attributes that a query may look at.
    """
    if workload.products is None:
        return "its queries are a matrix"
    sets = _looked_at(workload)
    order = max(map(len, sets))
    if order > most:
        why = f"a query looks at {order} attributes, more than {most}"
        if sum(2 ** len(attributes) for attributes in sets) > MOST_SECTORS:
            return why
        functions = _functions(workload, sets)
        gigabytes = whole(round(8 * functions**2 / 2**30))
        return f"{why}, and {whole(functions)} functions span its queries, a matrix of {gigabytes} GiB"
    functions = _functions(workload, sets)
    if functions > LARGEST_WORTHWHILE * workload.n:
        return f"its queries span {functions:,} functions of {workload.n:,} cells"
    return ""


def _functions(workload: Workload, sets: set[tuple[int, ...]]) -> int:
    """Functions of the cells by which all queries of these attributes are spanned."""
    shape = workload.domain.shape
    sectors = {
        s
        for attributes in sets
        for n in range(len(attributes) + 1)
        for s in itertools.combinations(attributes, n)
    }
    return sum(math.prod(shape[i] - 1 for i in sector) for sector in sectors)


def _looked_at(workload: Workload) -> set[tuple[int, ...]]:
    """The attributes that each product looks at."""
    products = workload.products or ()
    return {tuple(i for i, f in enumerate(p.factors) if f.kind != "total") for p in products}


SECONDS_OF_LARGEST = 60.0
LEAST_SECONDS = 1.0  # when the time is over
# A diagonal so near to a multiple of a proved one is not searched again; relative to its largest entry.
NEAR_MULTIPLE = 1e-9
MOST_PROVED = 8


@dataclass(frozen=True, eq=False, repr=False)
class SectorCells(Spanned):
    """The n = ``total`` cells of a workload, as far as its row space tells them apart.

    rows : the row space, of ``workload``. seconds : that the largest entry of a diagonal may be searched for.
    """

    rows: RowSpace = field(kw_only=True)
    workload: Workload = field(kw_only=True)
    seconds: float = SECONDS_OF_LARGEST
    _proved: list[tuple[tuple[Array, ...], float]] = field(default_factory=list, init=False)

    @staticmethod
    def of(rows: RowSpace, workload: Workload, seconds: float = SECONDS_OF_LARGEST) -> "SectorCells":
        """The cells of a workload with this row space."""
        space, n = rows.space, workload.n
        return SectorCells(
            space.multiplicities, space.dims, total=n, rows=rows, workload=workload, seconds=seconds
        )

    @property
    def first_strategy(self) -> tuple[Array, ...]:
        """N of the best residual strategy, which takes little time."""
        return residual_parts(self.rows, best_residual_strategy(self.workload))

    @property
    def words(self) -> str:
        """The sizes in words: "406 functions of the cells, 1 component of size up to 406"."""
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
        """Keep an upper end for these parts that ``rows.largest`` has proved."""
        del self._proved[: max(0, len(self._proved) + 1 - MOST_PROVED)]
        self._proved.append((tuple(parts), upper))

    def largest_entry(self, parts: Sequence[Array]) -> float:
        largest = min((self._from(*entry, parts) for entry in self._proved), default=math.inf)
        if not largest < math.inf:
            seconds = min(self.seconds, max(time_left(), LEAST_SECONDS))
            largest = self.rows.largest(parts, seconds).upper
            self.note(parts, largest)
        return largest

    def _from(self, base: Sequence[Array], upper: float, parts: Sequence[Array]) -> float:
        """At least the largest entry, from that of ``base``; infinity where ``parts`` is no near multiple."""
        often, pairs = self.multiplicities, list(zip(base, parts, strict=True))
        size = float(often @ np.array([float(np.vdot(part, part)) for part, _ in pairs]))
        factor = float(often @ np.array([float(np.vdot(*pair)) for pair in pairs])) / size if size else 0.0
        if not 0 < factor < math.inf:
            return math.inf
        offs = [np.abs(new - factor * old) + EPS * (np.abs(new) + np.abs(factor * old)) for old, new in pairs]
        off = max(float(np.linalg.norm(each)) for each in offs) * self.longest * GROW
        return (factor * upper + off) * (1 + 4 * EPS) if off <= NEAR_MULTIPLE * factor * upper else math.inf
