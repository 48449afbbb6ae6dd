"""What is known of an expression before any number is: shape, sign, curvature, definiteness."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from mmopt.language.atoms.dims import Dim

__all__ = ["SCALAR", "UNKNOWN", "Curvature", "RuleError", "Type", "column", "matrix"]


class Curvature(Enum):
    """How an expression depends on the chosen variables."""

    CONSTANT = "constant"
    AFFINE = "affine"
    CONVEX = "convex"
    CONCAVE = "concave"
    UNKNOWN = "neither convex nor concave"

    def __neg__(self) -> Curvature:
        swap = {Curvature.CONVEX: Curvature.CONCAVE, Curvature.CONCAVE: Curvature.CONVEX}
        return swap.get(self, self)

    @property
    def is_affine(self) -> bool:
        return self in (Curvature.CONSTANT, Curvature.AFFINE)

    @property
    def is_convex(self) -> bool:
        return self.is_affine or self is Curvature.CONVEX

    @property
    def is_concave(self) -> bool:
        return self.is_affine or self is Curvature.CONCAVE


class RuleError(Exception):
    """A shape that does not fit; the checker adds the position."""

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Type:
    """The type of an expression.

    ``dims`` is () for a scalar, (n,) for a vector and (r, c) for a matrix. ``is_row`` tells a row
    vector (``W[j, :]``, ``v.T``) from a column. ``sign`` is +1 (nonnegative), -1 or 0 (unknown).
    ``loewner`` says that a curved matrix expression is curved in the order of psd matrices, not
    entry by entry. ``psd`` says that a matrix is known to be symmetric positive semidefinite.
    ``why`` names what broke the curvature.
    """

    dims: tuple[Dim, ...] = ()
    is_row: bool = False
    sign: int = 0
    curvature: Curvature = Curvature.CONSTANT
    loewner: bool = False
    psd: bool = False
    symmetric: bool = False
    why: str = ""

    @property
    def is_scalar(self) -> bool:
        return not self.dims

    @property
    def is_vector(self) -> bool:
        return len(self.dims) == 1

    @property
    def is_matrix(self) -> bool:
        return len(self.dims) == 2

    @property
    def is_constant(self) -> bool:
        return self.curvature is Curvature.CONSTANT

    @property
    def block_shape(self) -> tuple[Dim, Dim]:
        """Rows and columns when it stands in a block matrix."""
        one = Dim.of(1)
        if self.is_row:
            return one, self.dims[0]
        rows, columns, *_ = (*self.dims, one, one)
        return rows, columns

    @property
    def shape(self) -> str:
        """The shape in words, for messages."""
        if self.is_scalar:
            return "a number"
        if self.is_vector:
            return f"a {'row' if self.is_row else 'vector'} of length {self.dims[0]}"
        return f"a matrix ({self.dims[0]}, {self.dims[1]})"

    def broken(self, why: str) -> Type:
        """The same shape, with the curvature lost for the reason given (the first is kept)."""
        curvature = Curvature.UNKNOWN
        return replace(self, curvature=curvature, loewner=False, psd=False, why=self.why or why)


SCALAR = Type()

# A number of rows that only the numbers tell: of factor(X), say, which has as many as X has rank.
UNKNOWN = Dim.of("?rows")


def column(dim: Dim, **known: Any) -> Type:
    """A column vector."""
    return Type(dims=(dim,), **known)


def matrix(rows: Dim, columns: Dim, **known: Any) -> Type:
    """A matrix."""
    return Type(dims=(rows, columns), **known)
