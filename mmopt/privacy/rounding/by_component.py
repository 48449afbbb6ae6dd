"""A strategy by component rounded to integers; nothing of it is a matrix over the cells.

On each component the workload has an integer basis B (``symmetry.projected``), and the strategy a
covariance Σ of the estimates of B x: rint(2^bits Σ^(-1/2)) B is measured there, as for a matrix
(``rounding.py``), on every copy of the component (``kronecker.py``). All components get the same noise.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mmopt.errors import WorkloadError
from mmopt.numerics.arrays import require_memory
from mmopt.numerics.components import Split
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.privacy.rounding.exact import integer_product, root_above
from mmopt.privacy.rounding.kronecker import Component, rest_sizes
from mmopt.privacy.rounding.lattice import (
    check_loss,
    check_rank,
    choose_bits,
    inverse_root,
    rint,
    unsupported,
)
from mmopt.privacy.rounding.protocol import MAX_ROWS, Floats, Integers, Neighbours, Part, replaced
from mmopt.strategies.by_component import ComponentStrategy
from mmopt.symmetry.projected import spanning_rows
from mmopt.workloads.workload import Workload

__all__ = ["IntegerComponents", "round_components", "squared_norms"]

HINT = "group values of the attributes, so that there are fewer cells"


@dataclass(frozen=True, eq=False)
class IntegerComponents:
    """An integer strategy by component; the attributes are those of ``mechanism.rounding_any.Measured``."""

    workload: Workload
    components: tuple[Component, ...]
    bits: int
    squared_sensitivity: int
    variances: Floats
    bias: float
    loss: float
    neighbours: Neighbours

    @property
    def norm(self) -> int:
        """2: solutions by component are of Gaussian noise."""
        return 2

    @property
    def sensitivity(self) -> float:
        """The root of ``squared_sensitivity``, rounded up."""
        return root_above(self.squared_sensitivity)

    @property
    def rows(self) -> int:
        """Number of measured queries."""
        return sum(component.rows for component in self.components)

    @cached_property
    def hash(self) -> str:
        """sha256 (hex) of bits, the symmetries, and each component with its matrix in row-major order."""
        joint = self.components[0].joint
        digest = hashlib.sha256(f"integer-components 1 {self.bits} {len(self.components)}\n".encode())
        for attribute in joint.attributes:
            for part in (attribute.classes, attribute.mirror):
                digest.update(np.ascontiguousarray(part, dtype="<i8").tobytes())
        for component in self.components:
            digest.update(f"{component.chosen.key} {component.matrix.shape}\n".encode())
            for array in (component.chosen.kept, component.matrix):
                digest.update(np.ascontiguousarray(array, dtype="<i8").tobytes())
        return digest.hexdigest()

    @property
    def parts(self) -> tuple[Part, ...]:
        """All rows: they get the same noise."""
        return (Part(self.rows, self.squared_sensitivity, self.largest_answer),)

    @property
    def largest_answer(self) -> int:
        """Bound on the absolute answers for a table of at most MAX_ROWS rows."""
        return max(component.largest_entry for component in self.components) * MAX_ROWS

    def standard_errors(self, deviations: Floats) -> Floats:
        """Of the queries, (m,), at noise of this standard deviation, (1,)."""
        return np.asarray(np.sqrt(self.variances) * np.ldexp(float(deviations[0]), -self.bits))

    def answers(self, counts: Integers) -> Integers:
        """The exact answers (rows,) for a data vector (n,), component by component."""
        return np.concatenate([component.answers(counts) for component in self.components])

    def estimate(self, noisy: Floats | Integers, deviations: Floats | None = None) -> Floats:
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


def round_components(
    strategy: ComponentStrategy, workload: Workload, neighbours: Neighbours
) -> IntegerComponents:
    """Round a strategy by component as the module says; errors as ``rounding.round_strategy``."""
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
    found = tuple(replace(s, matrix=integer_product(c, s.matrix)) for s, c in zip(shells, cores, strict=True))
    rounded = _as_strategy(found, bits)
    if not rounded.supports(workload):
        raise _no_integers()
    variances = rounded.variances(workload)
    loss = check_loss(variances, strategy.variances(workload), bits)
    variances.flags.writeable = False
    squared = max(squared_norms(found).values())
    if neighbours != "add-remove":
        squared = replaced(squared, 2, is_nonnegative=False)
    missed = rounded.missed(workload)
    return IntegerComponents(workload, found, bits, squared, variances, missed, loss, neighbours)


def _real(shell: Component, part: Floats) -> Floats:
    """Σ^(-1/2) of the basis under the strategy's part, over the lengths of the rests' matrices."""
    inverse, _ = pseudo_factors(part)
    image = (shell.matrix * shell.norms) @ inverse
    return inverse_root(image @ image.T) / math.prod(rest_sizes(shell.joint, shell.chosen))


def squared_norms(components: Sequence[Component]) -> dict[int, int]:
    """By orbit of cells the exact squared norm of their columns."""
    found: dict[int, int] = {}
    for component in components:
        for orbit, square in component.squared_norms():
            found[orbit] = found.get(orbit, 0) + square
    return found


def _largest_norm(shells: Sequence[Component], reals: Sequence[Floats]) -> float:
    """The largest norm of a column before it is rounded."""
    found: dict[int, float] = {}
    for shell, real in zip(shells, reals, strict=True):
        lengths = np.square(real @ shell.matrix).sum(axis=0)
        factor = math.prod(s * (s - 1) for s in rest_sizes(shell.joint, shell.chosen))
        for orbit, square in zip(shell.orbits, lengths, strict=True):
            found[int(orbit)] = found.get(int(orbit), 0.0) + factor * float(square)
    return math.sqrt(max(found.values()))


def _as_strategy(components: Sequence[Component], bits: int) -> ComponentStrategy:
    """The integer matrix at unit noise, in the orthonormal coordinates of its components."""
    cells = components[0].joint.space([component.chosen for component in components])
    parts = tuple(
        np.ldexp(c.matrix * c.norms * math.prod(rest_sizes(c.joint, c.chosen)), -bits) for c in components
    )
    return ComponentStrategy(Split(cells.abstract(tuple(map(len, parts))), cells, parts))


def _no_integers() -> WorkloadError:
    return WorkloadError(
        "the queries have no small integer basis on the components of the strategy",
        hint="write the queries with small integers (multiply them by a common denominator)",
    )
