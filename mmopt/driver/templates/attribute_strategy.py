"""One attribute's strategy in a product: a p-identity for Laplace noise, any rows for Gaussian noise."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from mmopt.driver.templates.union_terms import Side
from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.pseudoinverse import pseudo_factors
from mmopt.solvers import Clock, Options, nuclear
from mmopt.solvers.p_identity import StartRows, search

__all__ = ["Factor", "Identities", "Rows"]


GAP = 1e-7  # of the convex problem of one attribute


@dataclass(frozen=True)
class Factor(ABC):
    """A strategy over the merged values of an attribute, of sensitivity 1."""

    @classmethod
    @abstractmethod
    def first(cls, side: Side) -> Factor:
        """Noise on each value."""

    @abstractmethod
    def matrix(self) -> Array:
        """Its rows (p, r)."""

    @abstractmethod
    def improved(self, side: Side, gram: Array, count: int, seed: int) -> Factor:
        """A better one for the Gram matrix (r, r); where it is not convex by ``count`` starts."""

    def errors(self, side: Side) -> Array:
        """tr(G (AᵀA)⁻¹) for every product, (products,)."""
        inverse, _ = pseudo_factors(self.matrix())
        each = [float(np.sum((gram @ inverse) * inverse)) for gram in side.grams]
        return np.array(each)[side.used]


@dataclass(frozen=True)
class Identities(Factor):
    """Θ (k, r) below the identity, each column divided by its sum."""

    theta: Array

    @classmethod
    def first(cls, side: Side) -> Identities:
        return cls(np.zeros((1, side.size)))

    def matrix(self) -> Array:
        """Rows of zeros are left out."""
        used = self.theta[self.theta.any(axis=1)]
        whole = np.vstack([np.eye(self.theta.shape[1]), used])
        return np.asarray(whole / whole.sum(axis=0))

    def improved(self, side: Side, gram: Array, count: int, seed: int) -> Identities:
        """The known one is the first start."""
        most = max(1, side.size // 2, len(self.theta))
        first = (StartRows("known", self.theta),)
        *_, found = search(gram, most, queries=side.queries, count=count, seed=seed, first=first)
        return Identities(found.rows)


@dataclass(frozen=True)
class Rows(Factor):
    """Any rows whose columns have L2 norm 1 at most."""

    rows: Array

    @classmethod
    def first(cls, side: Side) -> Rows:
        return cls(np.eye(side.size))

    def matrix(self) -> Array:
        return self.rows

    def improved(self, side: Side, gram: Array, count: int, seed: int) -> Rows:
        """The optimum of ``l2_strategy``, scaled and completed to columns of norm 1."""
        with Clock(math.inf) as clock:
            points = nuclear.points("l2_strategy", {"W": _root(gram)}, Options(tolerance=GAP), clock)
            x = next(np.asarray(point.variables["X"]) for point in points if point.variables)
        x = x / np.diag(x).max()
        x[np.diag_indices(len(x))] = 1.0
        return Rows(_root(x))


def _root(gram: Array) -> Array:
    """Rows (k, r) with this Gram matrix, without directions that are rounding."""
    values, vectors = np.linalg.eigh(gram)
    kept = values > 8 * len(gram) * EPS * values[-1]
    return np.asarray((vectors[:, kept] * np.sqrt(values[kept])).T)
