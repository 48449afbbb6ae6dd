"""A strategy by component rounded to integers; nothing of it is a matrix over the cells.

On each component the workload has an integer basis B (``symmetry.queries_on_components``), and the strategy a
covariance Σ of the estimates of B x: rint(2^bits Σ^(-1/2)) B is measured there, as for a matrix
(``integer_dense.py``), on every copy of the component. All components get the same noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import MOST_CELLS, AnyInts, Array, Ints, frozen, require_memory
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.numerics.split_arrays import Split
from mmopt.privacy.rounding.counted_tables import CountedTables, WholeTable, maximal
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column, integer_product
from mmopt.privacy.rounding.integer_component import Component
from mmopt.privacy.rounding.integer_dense import round_dense
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, Measured, OneNoise, Part, digest
from mmopt.privacy.rounding.rounded_rows import (
    COLUMN_BITS,
    check_rank,
    choose_bits,
    closest,
    inverse_root,
    loss_of,
    rint,
    unsupported,
)
from mmopt.strategies import ComponentStrategy, Neighbours, as_dense
from mmopt.symmetry.queries_on_components import spanning_rows
from mmopt.workloads import Workload
from mmopt.workloads.queries_of_tables import answers_of_product

__all__ = ["IntegerComponents", "round_by_component", "round_components"]

HINT = "group values of the attributes, so that there are fewer cells"
MOST_HELD = 2**22  # cells up to which one estimate of the data vector is cheaper than one a product


@dataclass(frozen=True, eq=False, kw_only=True)
class IntegerComponents(OneNoise):
    """An integer strategy by component."""

    components: tuple[Component, ...]

    @cached_property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        rows = sum(component.rows for component in self.components)
        answer = max(component.largest_entry for component in self.components) * MAX_ROWS
        return (Part(rows, self.squared_sensitivity, answer),)

    def squared_sensitivities(self) -> list[int]:
        """The largest squared column norm; where rows are replaced a bound."""
        return [_squared(self.components, self.neighbours)]

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of bits, the symmetries, and each component with its matrix in row-major order."""
        joint = self.components[0].joint
        symmetries = [part for a in joint.attributes for part in (a.classes, a.mirror)]
        components = [
            piece
            for c in self.components
            for piece in (f"{c.chosen.key} {c.matrix.shape}\n", c.chosen.kept, c.matrix)
        ]
        heading = f"integer-components 1 {self.bits} {len(self.components)}\n"
        return digest(heading, *symmetries, *components)

    @property
    def tables(self) -> tuple[tuple[int, ...], ...] | None:
        """Those of the components, where the workload is made of products."""
        if self.workload.products is None:
            return None
        return maximal(component.axes for component in self.components)

    def answers(self, counts: Ints) -> AnyInts:
        """The exact answers (rows,) for a data vector (n,), component by component."""
        return self.answers_of(WholeTable(counts, self.workload.domain.shape))

    def answers_of(self, tables: CountedTables) -> AnyInts:
        """The exact answers (rows,), component by component."""
        return np.concatenate([component.answers(tables) for component in self.components])

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,).

        Up to ``MOST_HELD`` cells all from one estimate of the data vector; above, for the attributes of each
        product from the components that tell of them.

        Raises
        ------
        TooLargeError : a table over the attributes of a product does not fit in memory.
        """
        ends = np.cumsum([component.rows for component in self.components])
        noisy = np.asarray(noisy, dtype=np.float64)
        parts = list(zip(self.components, np.split(noisy, ends[:-1]), strict=True))
        shape, products = self.workload.domain.shape, self.workload.products

        def table(attributes: tuple[int, ...]) -> Array:
            require_memory(own := tuple(shape[i] for i in attributes), "estimate of the data vector", HINT)
            total = np.zeros(own)
            for component, part in parts:
                if component.centred.issubset(attributes):
                    total += component.least_squares(part, attributes)
            return total

        if products is None or self.workload.n <= MOST_HELD:
            return self.workload.answers(table(tuple(range(len(shape)))).ravel())
        known = cache(table)
        return np.concatenate([answers_of_product(product, known) for product in products])


def round_by_component(strategy: ComponentStrategy, workload: Workload, neighbours: Neighbours) -> Measured:
    """By component; up to ``MOST_CELLS`` cells as a matrix where that cannot be, or is cheaper.

    By component columns are not compared, and queries need small integers. Errors as
    ``round_components`` and ``round_dense``.
    """
    few = strategy.n <= MOST_CELLS
    if not (few and (neighbours.times is None or strategy.is_better_dense)):
        try:
            return round_components(strategy, workload, neighbours)
        except WorkloadError:
            if not few:
                raise
    return round_dense(as_dense(strategy), workload, neighbours)


def round_components(
    strategy: ComponentStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerComponents:
    """Round a strategy by component as the module says; errors as ``integer_dense.round_strategy``."""
    if not strategy.supports(workload):
        raise unsupported()
    cells = strategy.cells
    bases = spanning_rows(cells.joint, workload, cells.chosen)
    shells, reals = [], []
    for chosen, basis, part in zip(cells.chosen, bases, strategy.split.parts, strict=True):
        if basis is None:
            raise _no_integers()
        if len(basis):
            shells.append(Component(cells.joint, chosen, basis))
            reals.append(_real(shells[-1], part))
    largest, before = _largest_norm(shells, reals), strategy.variances(workload)

    def rounded(most: int) -> IntegerComponents:
        bits = choose_bits(largest, most)
        integers = _rounded(shells, reals, bits)
        after = _as_strategy(integers, bits)
        if not after.supports(workload):
            raise _no_integers()
        variances = after.variances(workload)
        return IntegerComponents(
            workload=workload,
            neighbours=neighbours,
            norm=2,
            variances=frozen(variances),
            squared_sensitivity=_squared(integers, neighbours),
            bits=bits,
            bias=after.missed(workload),
            loss=loss_of(variances, before),
            components=integers,
        )

    return closest(rounded, COLUMN_BITS)


def _rounded(shells: Sequence[Component], reals: Sequence[Array], bits: int) -> tuple[Component, ...]:
    cores = [rint(np.ldexp(real, bits)) for real in reals]
    for core in cores:
        check_rank(core, bits)
    return tuple(replace(s, matrix=integer_product(c, s.matrix)) for s, c in zip(shells, cores, strict=True))


def _real(shell: Component, part: Array) -> Array:
    """Σ^(-1/2) of the basis under the strategy's part, over the lengths of the rests' matrices."""
    inverse, _ = pseudo_factors(part)
    image = (shell.matrix * shell.norms) @ inverse
    return inverse_root(image @ image.T) / math.prod(shell.rest_sizes)


def _squared(components: Sequence[Component], neighbours: Neighbours) -> int:
    """The exact largest squared norm of a column; where rows are replaced a bound."""
    squares: dict[int, int] = {}  # by orbit of cells
    for component in components:
        for orbit, square in component.squared_norms():
            squares[orbit] = squares.get(orbit, 0) + square
    largest = max(squares.values())
    return bound_by_column(largest, 2, neighbours, is_nonnegative=False)


def _largest_norm(shells: Sequence[Component], reals: Sequence[Array]) -> float:
    """The largest norm of a column before it is rounded."""
    found: dict[int, float] = {}
    for shell, real in zip(shells, reals, strict=True):
        lengths = np.square(real @ shell.matrix).sum(axis=0)
        factor = math.prod(s * (s - 1) for s in shell.rest_sizes)
        for orbit, square in zip(shell.orbits, lengths, strict=True):
            found[int(orbit)] = found.get(int(orbit), 0.0) + factor * float(square)
    return math.sqrt(max(found.values()))


def _as_strategy(components: Sequence[Component], bits: int) -> ComponentStrategy:
    """The integer matrix at unit noise, in the orthonormal coordinates of its components."""
    cells = components[0].joint.space([component.chosen for component in components])
    parts = tuple(np.ldexp(c.matrix * c.norms * math.prod(c.rest_sizes), -bits) for c in components)
    return ComponentStrategy(Split(cells.abstract(tuple(map(len, parts))), cells, parts))


def _no_integers() -> WorkloadError:
    return WorkloadError(
        "the queries have no small integer basis on the components of the strategy",
        hint="write the queries with small integers (multiply them by a common denominator)",
    )
