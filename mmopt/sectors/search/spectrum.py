"""What a measure is worth: the roots of the queries' moments, and the bound and strategy of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.limits import require_time
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.matrix_functions import eigh
from mmopt.sectors.row_space import RowSpace

__all__ = ["Spectrum", "spectrum"]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """R_κ Q_κ R_κᵀ = U σ² Uᵀ of each component, for a measure of mass 1.

    roots : (r,) σ, ascending and positive. turned : (r, d) Uᵀ R. total : t = Σ μ Σ σ; t² is below the total
    error of every strategy. moments : (d, d) Q.
    """

    roots: tuple[Array, ...]
    turned: tuple[Array, ...]
    total: float
    moments: tuple[Array, ...]

    @property
    def bound(self) -> float:
        """t², the lower bound."""
        return self.total**2

    @cached_property
    def parts(self) -> tuple[Array, ...]:
        """N_κ = R_κᵀ (R_κ Q_κ R_κᵀ)^{-1/2} R_κ / t: f is the derivative of log t² by the measure."""
        each = zip(self.roots, self.turned, strict=True)
        return tuple(own.T @ (own / (self.total * root[:, None])) for root, own in each)


def spectrum(space: RowSpace, moments: Sequence[Array]) -> Spectrum:
    """From the moments of a measure of mass 1 under which every query is seen.

    What rounding makes of an eigenvalue near zero is lifted to what rounding may have lost: then t is no
    bound by itself: what is proved is what the program's certificate comes to (``bounds.moment_roots``).
    """
    roots, turned = [], []
    for own, root in zip(moments, space.root.parts, strict=True):
        require_time()
        squares, directions = eigh(root @ own @ root.T)
        least = len(squares) * EPS * float(squares.max(initial=0.0))
        roots.append(np.sqrt(np.maximum(squares, least)))
        turned.append(directions.T @ root)
    often = space.space.multiplicities.tolist()
    total = sum(m * float(root.sum()) for m, root in zip(often, roots, strict=True))
    return Spectrum(tuple(roots), tuple(turned), total, tuple(moments))
