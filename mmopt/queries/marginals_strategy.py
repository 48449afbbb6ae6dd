"""Weighted marginals as a strategy: one weight for each set of attributes, nothing over the cells.

Row blocks θ_S M_S for sets S of attributes, M_S = ⊗ᵢ (I if i in S, else 1ᵀ). A column has one 1 in each
block, so the L1 sensitivity is Σ θ_S and the L2 sensitivity √Σ θ_S². AᵀA is diagonal on the components κ of
the cells: on each attribute either the vectors that are constant (κᵢ = 0) or those that sum to zero (κᵢ = 1).
There it is

    x_κ = Σ_{S ⊇ κ} θ_S² ∏_{i not in S} nᵢ,

and total error at sensitivity 1 is Σ g_κ / x_κ with g_κ the trace of G on the component, a product over the
attributes for each product of the workload. Any union of products has such traces, not only marginals.
(McKenna, Miklau, Hay, Machanavajjhala: PVLDB 2018, OPT_M, by eigenvalues in place of its algebra.)
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mmopt.errors import OptionError
from mmopt.queries.arrays import Array, Ints, frozen
from mmopt.queries.factor_base import Factor
from mmopt.queries.workload import Workload

__all__ = ["MarginalsStrategy", "component_traces", "component_values"]


@dataclass(frozen=True, eq=False, repr=False)
class MarginalsStrategy:
    """Marginals over merged values, each with a weight.

    Parameters
    ----------
    classes : for each attribute the merged value of each value (size,), -1 for one that is not measured.
    weights : θ >= 0, one axis of length 2 per attribute: index 1 where it is kept, 0 where it is summed over.
    norm : 1 (Laplace) or 2 (Gaussian).

    Raises
    ------
    OptionError : shapes that do not fit, weights that are negative, not finite or all zero, another norm.
    """

    classes: tuple[Ints, ...]
    weights: Array
    norm: int = 1

    def __post_init__(self) -> None:
        weights = np.array(self.weights, dtype=np.float64)
        if weights.shape != (2,) * len(self.classes):
            raise OptionError(
                f"the weights have shape {weights.shape}, expected an axis of 2 for each of "
                f"{len(self.classes)} attributes"
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise OptionError("the weights of marginals are finite, nonnegative, and not all zero")
        if self.norm not in (1, 2):
            raise OptionError(f"the strategy's norm is {self.norm!r}, expected 1 (Laplace) or 2 (Gaussian)")
        object.__setattr__(self, "weights", frozen(weights))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The merged values of each attribute."""
        return tuple(int(c.max()) + 1 for c in self.classes)

    @property
    def p(self) -> int:
        """Number of measured queries: those of marginals with a positive weight."""
        kept = np.argwhere(self.weights > 0)
        return sum(math.prod(n for n, k in zip(self.sizes, own, strict=True) if k) for own in kept.tolist())

    @property
    def n(self) -> int:
        """Number of cells."""
        return math.prod(len(c) for c in self.classes)

    @property
    def sensitivity(self) -> float:
        """Σ θ or √Σ θ², rounded upwards."""
        exact = math.fsum(self.weights.ravel() ** self.norm)
        return math.nextafter(exact ** (1.0 / self.norm) * (1.0 + 1e-15), math.inf)

    def errors(self, workload: Workload) -> Array:
        """Total unweighted error of each product of the workload, (products,); infinity where not supported.

        Raises
        ------
        OptionError : a workload that is no union of products over these values.
        """
        x = component_values(np.square(self.weights), self.sizes)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = [np.where(g > 0, g / x, 0.0) for g in component_traces(workload, self.classes)]
        return self.sensitivity**2 * np.array([float(part.sum()) for part in parts])

    def total_error(self, workload: Workload) -> float:
        """‖A‖² ‖W A⁺‖²_F with the weighted W; else as ``errors``."""
        weights = [p.weight for p in workload.products or ()]
        return float(np.dot(weights, self.errors(workload)))

    def rmse(self, workload: Workload) -> float:
        """√(total unweighted squared error / m) at unit noise per unit of sensitivity."""
        return math.sqrt(float(self.errors(workload).sum()) / workload.m)

    def __repr__(self) -> str:
        count = np.count_nonzero(self.weights)
        return f"MarginalsStrategy({count} marginals over {self.sizes} values, norm {self.norm})"


def component_values(squares: Array, sizes: tuple[int, ...]) -> Array:
    """x_κ from θ_S², both with one axis of length 2 per attribute."""
    for axis, n in enumerate(sizes):
        out, kept = np.split(squares, 2, axis=axis)
        squares = np.concatenate([n * out + kept, kept], axis=axis)
    return squares


def component_traces(workload: Workload, classes: tuple[Ints, ...]) -> list[Array]:
    """g_κ of each product, unweighted, with one axis of length 2 per attribute.

    Raises
    ------
    OptionError : a workload that is no union of products, over other values, or that tells merged ones apart.
    """
    sizes = tuple(len(c) for c in classes)
    if workload.products is None or workload.domain.shape != sizes:
        asked = "a matrix" if workload.products is None else f"over {workload.domain.shape} values"
        raise OptionError(f"the marginals are over {sizes} values, the workload is {asked}")
    known: dict[tuple[int, Factor], Array] = {}
    found = []
    for product in workload.products:
        traces = np.ones(())
        for at, factor in enumerate(product.factors):
            if (at, factor) not in known:
                known[at, factor] = _traces(factor, classes[at])
            traces = np.multiply.outer(traces, known[at, factor])
        found.append(np.asarray(traces))
    return found


def _traces(factor: Factor, classes: Ints) -> Array:
    """Of one attribute: on the constant vector of merged values, and on those that sum to zero."""
    root = factor.root()
    first = np.array([int(np.argmax(classes == c)) for c in range(int(classes.max()) + 1)])
    merged = root[:, first]
    if not np.array_equal(root, np.where(classes >= 0, merged[:, classes], 0.0)):
        raise OptionError(f"{factor!r} tells values apart that the marginals measure together")
    flat = float(np.square(merged.sum(axis=1)).sum()) / len(first)
    rest = float(np.square(merged - merged.mean(axis=1, keepdims=True)).sum())
    return np.array([flat, rest])
