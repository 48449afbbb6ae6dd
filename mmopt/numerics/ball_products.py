"""Matrix products with error bounds (see ``balls``), without the matrices that need not be formed."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mmopt.numerics import ball_inverse, balls
from mmopt.numerics.arrays import Array, panels
from mmopt.numerics.balls import Ball
from mmopt.numerics.unformed_products import Diagonal, is_identity

__all__ = ["diagonal_of_product", "diagonal_of_solved", "solved", "times", "whole"]

# Rows taken at a time where only the diagonal of a product is asked for.
ROWS_AT_A_TIME = 512


@dataclass(frozen=True)
class _Scaled:
    """A matrix between diagonal ones, which is formed only once; exact, or within one radius for each row."""

    matrix: Array
    rows: Ball | None
    columns: Ball | None
    radii: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        return self.matrix.shape


_Term = Ball | Diagonal | _Scaled


def times(left: _Term, right: _Term) -> _Term:
    """The matrix product; see ``unformed_products.Diagonal``."""
    match left, right:
        case Diagonal(), Diagonal():
            return Diagonal(balls.mul(left.entries, right.entries))
        case Diagonal(), Ball() if len(right.shape) == 1:
            return balls.mul(left.entries, right)
        case Ball(), Diagonal() if len(left.shape) == 1:
            return balls.mul(left, right.entries)
        case Diagonal(), Ball() if right.is_exact:
            return _Scaled(right.mid, left.entries, None)
        case Ball(), Diagonal() if left.is_exact:
            return _Scaled(left.mid, None, right.entries)
        case Diagonal(), _Scaled(rows=None):
            return replace(right, rows=left.entries)
        case _Scaled(columns=None), Diagonal():
            return replace(left, columns=right.entries)
        case Diagonal(), _:
            return balls.mul(left.entries[:, None], whole(right))
        case _, Diagonal():
            return balls.mul(whole(left), right.entries)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Ball) and one.is_exact and is_identity(one.mid) and len(other.shape) == 2:
            return other
    match left, right:
        case _Scaled(matrix=matrix, columns=None, radii=None), Ball() if (
            right.is_exact and len(right.shape) == 2
        ):
            return _Scaled(matrix @ right.mid, left.rows, None, balls.product_radii(matrix, right.mid))
    return balls.matmul(whole(left), whole(right))


def whole(a: _Term) -> Ball:
    """The matrix itself."""
    if isinstance(a, _Scaled):
        return balls.scaled(a.matrix, a.rows, a.columns, a.radii)
    return balls.diag(a.entries) if isinstance(a, Diagonal) else a


def solved(left: _Term | None, matrix: Ball, right: _Term | None) -> Ball:
    """``left @ inv(matrix) @ right``, where None stands for nothing."""
    identity = balls.exact(np.eye(len(matrix.mid)))
    left, right = (identity if side is None else whole(side) for side in (left, right))
    return ball_inverse.sandwich(left, matrix, right)


def diagonal_of_product(left: _Term, right: _Term) -> Ball | None:
    """The diagonal of the product of two matrices, without the product; None where one is diagonal."""
    if isinstance(left, Diagonal) or isinstance(right, Diagonal):
        return None
    one, other = whole(left), balls.transpose(whole(right))
    rows = panels(len(one.mid), ROWS_AT_A_TIME)
    return balls.joined([balls.total(balls.mul(one[here], other[here]), axis=1) for here in rows])


def diagonal_of_solved(left: _Term, matrix: Ball, right: _Term) -> Ball:
    """The diagonal of ``left @ inv(matrix) @ right`` of matrices, without the product."""
    return ball_inverse.sandwich_diagonal(whole(left), matrix, whole(right))
