"""What the root of products of few attributes is off by, relatively (Frobenius): R + E exact, ‖E‖ <= γ ‖R‖.

- A factor's coefficients F b / d come from a root of its rows, off by the factor's own γ, summed over orbits
  and turned into contrasts: some 32 ε d^1.5 as in ``symmetry.root_rounding``, one QR, and 4 o ε for the
  reflection. Of an identity they are numbers, of a total exact. Relative to all of the factor: constant,
  contrasts and rests.
- In a Kronecker product these add up. Over all components, each as often as it stands there, its squares sum
  to the product's own, so that the relative rounding of all products together is the largest of them.
- Rows are stacked and made a triangle, front by front: a row takes part in each front at most once, and each
  QR of (m, n) is off by at most 4 ε m min(m, n) of its columns (Higham, Accuracy and Stability of Numerical
  Algorithms, 2002, Theorem 19.4, c = 8).
- Where the rank is looked at, singular values of at most 8 d ε of the largest are left out.

E is as small in the sense that (R + E)ᵀ(R + E) = H for some such E (the Bures distance of Gram matrices).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from mmopt.numerics.arrays import EPS
from mmopt.numerics.balls import GROW

__all__ = ["factor_rounding", "qr_rounding", "root_rounding"]


def factor_rounding(kind: str, size: int, orbits: int, own: float) -> float:
    """γ of a factor's coefficients on ``size`` values; ``own`` is its ``Implicit.root_rounding``."""
    if kind == "total":
        return own
    if kind == "identity":
        return own + 4 * EPS
    return own + 32 * EPS * math.pow(size, 1.5) + qr_rounding(size, orbits) + 4 * EPS * orbits


def qr_rounding(rows: int, columns: int) -> float:
    """γ of one QR."""
    return 4 * EPS * rows * min(rows, columns)


def root_rounding(
    products: Iterable[Iterable[float]], fronts: Iterable[tuple[int, int]], largest: int
) -> float:
    """γ of the whole root.

    products : of each, the γ of its factors. fronts : (m, n) of the QRs of a component, of the one where they
    come to most. largest : dimension of a component whose rank was looked at; 1 where none was.
    """
    kron = max(sum(factors := list(each)) + 4 * EPS * (len(factors) + 1) for each in products)
    joined = sum(qr_rounding(*front) for front in fronts)
    cut = 40 * EPS * math.pow(largest, 1.5) if largest > 1 else 0.0
    return (kron + joined + cut) * (1 + 1e-3) * GROW
