"""Symbolic dimensions: polynomials in n, m, k, p … with whole coefficients."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from mmopt.errors import ProgramError

__all__ = ["LARGEST", "Dim"]

LARGEST = 2**53  # of a dimension: the whole numbers that a double holds
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
    def is_one(self) -> bool:
        """Whether this is the constant 1."""
        return self == Dim.of(1)

    @property
    def symbols(self) -> frozenset[str]:
        """The symbols that occur."""
        return frozenset(name for monomial, _ in self.terms for name in monomial)

    def value(self, sizes: Mapping[str, int]) -> int:
        """The number, given each symbol's; ``KeyError`` names a missing one."""
        return sum(
            coefficient * math.prod(sizes[name] for name in monomial) for monomial, coefficient in self.terms
        )

    def __str__(self) -> str:
        ordered = sorted(self.terms, key=lambda t: (-len(t[0]), t[0]))
        return " + ".join(_written(*term) for term in ordered).replace("+ -", "- ") or "0"


def _written(monomial: Monomial, coefficient: int) -> str:
    name = "*".join(monomial)
    if name and abs(coefficient) == 1:
        return name if coefficient > 0 else f"-{name}"
    return f"{coefficient}*{name}" if name else str(coefficient)
