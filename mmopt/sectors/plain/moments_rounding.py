"""What computed moments of products of measures are off by: proved, and small.

A measure of an attribute is a row of floats p̃ that stands for p = p̃ / Σp̃, so |p̃ᵥ - pᵥ| <= δ pᵥ with
δ = |Σp̃ - 1|. The basis B̃ is that of floats, the exact one B is orthonormal and B̃ = (I + Δ) B.

Of one product, an entry of the moments in B̃ is a product of entries Gᵢ[a, b] = Σᵥ pᵥ b̃ₐ(v) b̃_b(v) of at
most 2w attributes (w the order), each off by at most γ Σᵥ pᵥ |b̃ₐ b̃_b| <= γ √(Gᵢ[a, a] Gᵢ[b, b]), with γ of
o terms and three roundings of each, and by δ. So all are off by at most g √(Q[a, a] Q[b, b]),
g = (1 + δ + γ)²ʷ - 1 and the γ of a sum of J products, by Cauchy and Schwarz also over these; ‖E‖₂ <= g tr Q.

From B to B̃ contrasts move by combinations of contrasts and of the constant, each at most ‖Δ‖ =: δ. So the
products of sector S move to those of S less j attributes by C(w, j) blocks in a row at most, C(k, j) in a
column, each at most δʲ (1 + δ)ʷ⁻ʲ. A matrix of blocks is no larger than the root of the largest row times
the largest column, √(C(w, j) C(k, j)) <= C(w, j) √k ʲ, and the sum over j is (1 + δ + √k δ)ʷ. Hence
‖Q̃ - Q‖ <= ((1 + (1 + √k) δ)²ʷ - 1) ‖Q‖. A rest's factor, an orbit's share times d / s, is of the same kind.
"""

from __future__ import annotations

import numpy as np

from mmopt.numerics.arrays import EPS, Array
from mmopt.numerics.balls import GROW, gamma
from mmopt.sectors.measures import Mixture

__all__ = ["basis_rounding", "component_rounding", "products_rounding"]


def basis_rounding(basis: Array, sizes: Array) -> float:
    """At least ‖Δ‖₂ of one attribute's basis, constant and contrasts (o, o), on orbits of ``sizes`` values.

    With G = B̃ P B̃ᵀ, P the uniform measure, the constant exact: contrasts are freed of the constant and then
    orthonormalised by (G')^{-1/2}, which moves them by at most ‖G - I‖ each.
    """
    shares = sizes / sizes.sum()
    gram = (basis * shares) @ basis.T
    off = float(np.linalg.norm(gram - np.eye(len(basis))))
    lost = (gamma(len(sizes) + 6) + 4 * EPS) * float(np.linalg.norm(basis * np.sqrt(shares))) ** 2
    return 2 * (off + lost) * GROW


def products_rounding(mixture: Mixture, order: int) -> float:
    """g: computed moments in the basis of floats are off by at most g √(Q[a, a] Q[b, b]) each.

    order : attributes of a query, at most; an entry of the moments is made of twice as many at most.
    """
    most = max(f.shape[1] for f in mixture.factors)
    sums = [float(np.abs(f.sum(axis=1) - 1.0).max(initial=0.0)) for f in mixture.factors]
    one = max(sums) + 2 * gamma(most + 2) + gamma(most + 6)
    return float(np.expm1(2 * order * np.log1p(one)) + gamma(mixture.count + 2)) * GROW


def component_rounding(moments: Array, products: float, basis: float, order: int) -> float:
    """At least ‖Q̃ - Q‖₂ of a component, from g, and from ``basis``, (1 + √k) ‖Δ‖ of k attributes."""
    trace = float(np.trace(moments)) * (1.0 + products) + EPS * len(moments)
    norm = min(trace, float(np.abs(moments).sum(axis=1).max(initial=0.0)) + products * trace)
    return float(products * trace / (1.0 - products) + np.expm1(2 * order * np.log1p(basis)) * norm) * GROW
