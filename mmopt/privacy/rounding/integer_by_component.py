"""A strategy by component rounded to integers; nothing of it is a matrix over the cells.

On each component the workload has an integer basis B (``symmetry.queries_on_components``), and the strategy a
covariance Σ of the estimates of B x: rint(2^bits Σ^(-1/2)) B is measured there, as for a matrix
(``integer_dense.py``), on every copy of the component. All components get the same noise.

On the part of an attribute that a component chooses, the cells' counts x are taken to integers: on an even
or odd part by sums over orbits (1_O, 1_C - 1_σ(C)); on a rest by s e_v - 1_C for each value v of its classes
C of size s. The latter are s rows for a space of s - 1 dimensions: their Gram matrix is s² times its
projection, so noise on them tells as much as noise on an orthonormal basis times s, which has no integers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import MOST_CELLS, Array, Ints, frozen, require_memory
from mmopt.numerics.pseudoinverse import pinv, pseudo_factors
from mmopt.numerics.split_arrays import Split
from mmopt.privacy.rounding.integer_arithmetic import bound_by_column, integer_product, largest_entry
from mmopt.privacy.rounding.integer_dense import round_dense
from mmopt.privacy.rounding.integer_strategy import MAX_ROWS, Measured, OneNoise, Part, digest
from mmopt.privacy.rounding.rounded_rows import (
    check_loss,
    check_rank,
    choose_bits,
    inverse_root,
    rint,
    unsupported,
)
from mmopt.strategies import ComponentStrategy, Neighbours, as_dense
from mmopt.symmetry.attribute_components import AttributePart, AttributeSymmetry
from mmopt.symmetry.joint_components import Chosen, Joint
from mmopt.symmetry.queries_on_components import spanning_rows
from mmopt.workloads import Workload

__all__ = ["IntegerComponents", "round_by_component", "round_components"]

HINT = "group values of the attributes, so that there are fewer cells"


@dataclass(frozen=True, eq=False)
class Component:
    """``matrix`` (k, kept), on the sums over orbits, times the whole matrices of the rests.

    The measured rows are in the order (row of ``matrix``, values of the rests).
    """

    joint: Joint
    chosen: Chosen
    matrix: Ints

    @cached_property
    def _parts(self) -> list[tuple[AttributeSymmetry, AttributePart]]:
        """The chosen part of each attribute."""
        return [(a, a.parts[k]) for a, k in zip(self.joint.attributes, self.chosen.key, strict=True)]

    @cached_property
    def _maps(self) -> tuple[scipy.sparse.csr_array, ...]:
        return tuple(_map(a, part) for a, part in self._parts)

    @property
    def _is_rest(self) -> list[bool]:
        return [part.kind == "rest" for _, part in self._parts]

    @cached_property
    def rest_sizes(self) -> list[int]:
        """The sizes of the classes of the rests."""
        rests = [(a, int(part.labels[0])) for a, part in self._parts if part.kind == "rest"]
        return [int(a.class_sizes[np.flatnonzero(a.orbit_of_class == orbit)[0]]) for a, orbit in rests]

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        rests = zip(self._maps, self._is_rest, strict=True)
        return len(self.matrix) * math.prod(int(m.shape[0]) for m, is_rest in rests if is_rest)

    @property
    def orbits(self) -> Ints:
        """(kept,) the orbit of cells of each column of ``matrix``."""
        return self.joint.labels(self.chosen.key)[self.chosen.kept]

    @property
    def norms(self) -> Array:
        """(kept,) the L2 length of each vector that the columns of ``matrix`` stand for."""
        alike = math.prod(float(a.sizes[part.labels[0]]) for a, part in self._parts if part.kind == "rest")
        return np.asarray(np.sqrt(self.joint.sizes()[self.orbits] / alike))

    @property
    def largest_entry(self) -> int:
        """Bound on the entries over the cells, and on all sums on the way to an answer for one cell."""
        return max(largest_entry(self.matrix), 1) * math.prod(self.rest_sizes)

    def squared_norms(self) -> list[tuple[int, int]]:
        """Each kept column's orbit of cells, and its share of their squared column norm, exactly."""
        factor = math.prod(s * (s - 1) for s in self.rest_sizes)
        squares = (self.matrix.astype(object) ** 2).sum(axis=0)
        return [(int(o), int(square) * factor) for o, square in zip(self.orbits, squares, strict=True)]

    def answers(self, counts: Ints) -> Ints:
        """Exact answers for counts (n,); the caller has bounded them, and what is on the way, by 2^62."""
        tensor = counts.reshape([len(a.classes) for a in self.joint.attributes])
        for axis, one in enumerate(self._maps):
            tensor = _along(one, tensor, axis)
        flat = self._split(tensor)[self.chosen.kept]
        return np.asarray((self.matrix @ flat).ravel(), dtype=np.int64)

    def least_squares(self, noisy: Array) -> Array:
        """The shortest x̂ (n,) that fits the answers best: the pseudo-inverse times them."""
        values = noisy.reshape(len(self.matrix), -1)
        scale = math.prod(float(s) ** 2 for s in self.rest_sizes)
        norms = self.norms
        kept = pinv(self.matrix * norms) @ values / (norms[:, None] * scale)
        full = np.zeros((self.joint.dim(self.chosen.key), values.shape[1]))
        full[self.chosen.kept] = kept
        tensor = self._joined(full)
        for axis, one in enumerate(self._maps):
            tensor = _along(one.T, tensor, axis)
        return tensor.ravel()

    def _order(self) -> list[int]:
        return sorted(range(len(self._maps)), key=self._is_rest.__getitem__)

    def _split(self, tensor: Ints) -> Ints:
        """Axes of sums first: (their product, that of the rests)."""
        return tensor.transpose(self._order()).reshape(self.joint.dim(self.chosen.key), -1)

    def _joined(self, matrix: Array) -> Array:
        order = self._order()
        shape = [self._maps[axis].shape[0] for axis in order]
        return matrix.reshape(shape).transpose(np.argsort(order))


def _along(matrix: scipy.sparse.csr_array, tensor: Any, axis: int) -> Any:
    """The matrix times the tensor along an axis, in the numbers that the tensor has."""
    moved = np.moveaxis(tensor, axis, 0)
    product = matrix @ moved.reshape(moved.shape[0], -1)
    return np.moveaxis(np.asarray(product).reshape(matrix.shape[0], *moved.shape[1:]), 0, axis)


def _map(attribute: AttributeSymmetry, part: AttributePart) -> scipy.sparse.csr_array:
    """The integer matrix (rows, size) of a part."""
    n = len(attribute.classes)
    values = np.arange(n)
    if part.kind == "even":
        entries = np.ones(n, dtype=np.int64)
        return scipy.sparse.csr_array((entries, (attribute.orbit_of, values)), shape=(part.dim, n))
    if part.kind == "odd":
        member = np.equal.outer(np.arange(len(attribute.mirror)), attribute.classes).astype(np.int64)
        first, second = attribute.pairs.T
        return scipy.sparse.csr_array(member[first] - member[second])
    blocks = []
    for c in np.flatnonzero(attribute.orbit_of_class == part.labels[0]):
        own = np.flatnonzero(attribute.classes == c)
        block = np.zeros((len(own), n), dtype=np.int64)
        block[:, own] = len(own) * np.eye(len(own), dtype=np.int64) - 1
        blocks.append(block)
    return scipy.sparse.csr_array(np.vstack(blocks))


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

    def answers(self, counts: Ints) -> Ints:
        """The exact answers (rows,) for a data vector (n,), component by component."""
        return np.concatenate([component.answers(counts) for component in self.components])

    def estimate(self, noisy: Array | Ints, deviations: Array | None = None) -> Array:
        """Least-squares estimates (m,) of the unweighted queries from noisy answers (rows,).

        Raises
        ------
        TooLargeError : as many numbers as cells do not fit in memory.
        """
        require_memory((self.workload.n,), "estimate of the data vector", HINT)
        ends = np.cumsum([component.rows for component in self.components])
        x = np.zeros(self.workload.n)
        for component, part in zip(self.components, np.split(noisy, ends[:-1]), strict=True):
            x += component.least_squares(part.astype(np.float64))
        return self.workload.answers(x)


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
    bits = choose_bits(_largest_norm(shells, reals))
    cores = [rint(np.ldexp(real, bits)) for real in reals]
    for core in cores:
        check_rank(core, bits)
    integers = tuple(
        replace(s, matrix=integer_product(c, s.matrix)) for s, c in zip(shells, cores, strict=True)
    )
    rounded = _as_strategy(integers, bits)
    if not rounded.supports(workload):
        raise _no_integers()
    variances = rounded.variances(workload)
    return IntegerComponents(
        workload=workload,
        neighbours=neighbours,
        norm=2,
        variances=frozen(variances),
        squared_sensitivity=_squared(integers, neighbours),
        bits=bits,
        bias=rounded.missed(workload),
        loss=check_loss(variances, strategy.variances(workload), bits),
        components=integers,
    )


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
