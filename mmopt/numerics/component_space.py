"""A space that splits into components with multiplicities."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from mmopt.errors import WorkloadError

__all__ = ["Array", "Ints", "Space"]

Array = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Space:
    """R^N as a sum of components (see ``mmopt.numerics.components``).

    Parameters
    ----------
    multiplicities : (K,) how often each component stands there; whole numbers, as floats.
    dims : dimension of each component.
    labels : per component the orbit of each basis vector, (dims[κ],); None for an abstract space.
    sizes : (o,) number of coordinates of each orbit, as floats; None for an abstract space.
    total : N where components are left out; None: the kept components are all there is.
    orbits : computes ``orbit_of``; None where the coordinates are abstract.
    bases : computes ``basis``; None where the coordinates are abstract.
    """

    multiplicities: Array
    dims: tuple[int, ...]
    labels: tuple[Ints, ...] | None = None
    sizes: Array | None = None
    total: int | None = None
    orbits: Callable[[], Ints] | None = None
    bases: Callable[[int], Any] | None = None

    @property
    def count(self) -> int:
        """Number of components, K."""
        return len(self.dims)

    @property
    def kept(self) -> int:
        """Dimension of the kept components together: Σ μ d."""
        return sum(int(m) * d for m, d in zip(self.multiplicities, self.dims, strict=True))

    @property
    def size(self) -> int:
        """N, the number of coordinates."""
        return self.kept if self.total is None else self.total

    @property
    def largest(self) -> int:
        """The largest dimension of a component."""
        return max(self.dims, default=0)

    def orbit_of(self) -> Ints:
        """(N,) the orbit of each coordinate; WorkloadError where coordinates are abstract."""
        if self.orbits is None:
            raise WorkloadError("an abstract space has no orbits")
        return self.orbits()

    def basis(self, component: int) -> Any:
        """Scipy sparse (N, d μ), orthonormal columns: column a μ + c is copy c of basis vector a.

        WorkloadError where coordinates are abstract.
        """
        if self.bases is None:
            raise WorkloadError("an abstract space has no basis")
        return self.bases(component)

    def matches(self, other: Space) -> bool:
        """Whether a matrix on one of the spaces can be multiplied with one on the other."""
        if self is other:
            return True
        if self.dims != other.dims or not np.array_equal(self.multiplicities, other.multiplicities):
            return False
        if self.sizes is None or other.sizes is None:
            return self.sizes is other.sizes
        return np.array_equal(self.sizes, other.sizes)

    def abstract(self, dims: tuple[int, ...]) -> Space:
        """A space without coordinates that has the same components, in these dimensions."""
        return Space(self.multiplicities, dims)

    @property
    def words(self) -> str:
        """How it splits: "400 orbits, 96 components of size up to 400"."""
        orbits = "abstract" if self.sizes is None else _counted(len(self.sizes), "orbit")
        return f"{orbits}, {_counted(self.count, 'component')} of size up to {self.largest}"

    def __repr__(self) -> str:
        number = f"{self.size:,}" if self.size < 10**15 else f"about 1e{int(math.log10(self.size))}"
        return f"Space({number}, {self.words})"


def _counted(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"
