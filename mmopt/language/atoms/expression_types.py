"""The type of an expression, before any number is known: dimensions, shape, sign, curvature, definiteness.

Dimensions are symbolic: polynomials in n, m, k, p … with whole coefficients.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from mmopt.errors import ProgramError

LARGEST_DIM = 2**53  # of a dimension: the whole numbers that a double holds
MAX_TERMS = 1000  # of a dimension, multiplied out

Monomial = tuple[str, ...]


@dataclass(frozen=True)
class Dim:
    """A dimension such as ``n``, ``2*n`` or ``n + m``: sorted (monomial, coefficient) pairs."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(value: int | str) -> Dim:
        """A constant or a single symbol."""
        if isinstance(value, str):
            return Dim((((value,), 1),))
        return Dim((((), value),)) if value else Dim(())

    @staticmethod
    def _collect(terms: Mapping[Monomial, int]) -> Dim:
        """The dimension of these terms, sorted, those of coefficient 0 left out."""
        if len(terms) > MAX_TERMS:
            raise ProgramError(f"a dimension of more than {MAX_TERMS} terms when it is multiplied out")
        return Dim(tuple(sorted((m, c) for m, c in terms.items() if c)))

    def __add__(self, other: Dim) -> Dim:
        total = Counter(dict(self.terms))
        total.update(dict(other.terms))
        return Dim._collect(total)

    def __neg__(self) -> Dim:
        return Dim(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __mul__(self, other: Dim) -> Dim:
        total: Counter[Monomial] = Counter()
        for (left, a), (right, b) in itertools.product(self.terms, other.terms):
            total[tuple(sorted(left + right))] += a * b
        return Dim._collect(total)

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols that occur."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    @property
    def name(self) -> str:
        """The symbol, if the dimension is a single symbol; else ""."""
        return next((name for name in self.symbols if self == Dim.of(name)), "")

    def value(self, sizes: Mapping[str, int]) -> int:
        """The number, given the number of each symbol; ``KeyError`` names a missing one."""
        return sum(
            coefficient * math.prod(sizes[name] for name in monomial) for monomial, coefficient in self.terms
        )

    def __str__(self) -> str:
        ordered = sorted(self.terms, key=lambda t: (-len(t[0]), t[0]))
        return " + ".join(_term_text(*term) for term in ordered).replace("+ -", "- ") or "0"


def _term_text(monomial: Monomial, coefficient: int) -> str:
    name = "*".join(monomial)
    if name and abs(coefficient) == 1:
        return name if coefficient > 0 else f"-{name}"
    return f"{coefficient}*{name}" if name else str(coefficient)


class Curvature(Enum):
    """The dependence of an expression on the variables."""

    CONSTANT = "constant"
    AFFINE = "affine"
    CONVEX = "convex"
    CONCAVE = "concave"
    UNKNOWN = "neither convex nor concave by the rules"

    def __neg__(self) -> Curvature:
        return {Curvature.CONVEX: Curvature.CONCAVE, Curvature.CONCAVE: Curvature.CONVEX}.get(self, self)

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

    ``dims`` is () for a scalar, (n,) for a vector and (r, c) for a matrix. ``is_row`` distinguishes a row
    vector (``W[j, :]``, ``v.T``) from a column. ``sign`` is +1 (nonnegative), -1 or 0 (unknown).
    ``loewner`` says that a curved matrix expression is curved in the order of psd matrices, not
    entry by entry. ``psd`` says that a matrix is known to be symmetric positive semidefinite.
    ``antisymmetric``: a name that equals minus its transpose. ``why``: the reason why the curvature is lost.
    """

    dims: tuple[Dim, ...] = ()
    is_row: bool = False
    sign: int = 0
    curvature: Curvature = Curvature.CONSTANT
    loewner: bool = False
    psd: bool = False
    symmetric: bool = False
    antisymmetric: bool = False
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
    def is_broken(self) -> bool:
        """Whether it is neither convex nor concave by the rules."""
        return self.curvature is Curvature.UNKNOWN

    @property
    def block_shape(self) -> tuple[Dim, Dim]:
        """Rows and columns in a block matrix."""
        one = Dim.of(1)
        rows, columns, *_ = (one, *self.dims) if self.is_row else (*self.dims, one, one)
        return rows, columns

    @property
    def shape(self) -> str:
        """The shape in words, for messages."""
        if self.is_scalar:
            return "a number"
        if self.is_vector:
            return f"a {'row' if self.is_row else 'vector'} of length {self.dims[0]}"
        return f"a matrix ({self.dims[0]}, {self.dims[1]})"

    def rounded(self, value: Any) -> Any:
        """A value, with 0 in place of entries that have the wrong sign only by rounding."""
        has_sign = not self.sign or np.all(self.sign * value >= 0)
        return value if has_sign else self.sign * np.maximum(self.sign * value, 0.0)

    def broken(self, why: str) -> Type:
        """This type with the curvature lost, for the reason given; an earlier reason is kept."""
        return replace(self, curvature=Curvature.UNKNOWN, loewner=False, psd=False, why=self.why or why)


SCALAR = Type()

# A number of rows that depends on the numbers: factor(X), for example, has as many as X has rank.
UNKNOWN_ROWS = Dim.of("?rows")


def column(dim: Dim, **fields: Any) -> Type:
    """A column vector."""
    return Type(dims=(dim,), **fields)


def matrix(rows: Dim, columns: Dim, **fields: Any) -> Type:
    """A matrix."""
    return Type(dims=(rows, columns), **fields)
