"""Symbolic dimensions: polynomials in n, m, k, p … with whole coefficients."""

from __future__ import annotations

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
        total = dict(self.terms)
        for monomial, coefficient in other.terms:
            total[monomial] = total.get(monomial, 0) + coefficient
        return Dim._collect(total)

    def __neg__(self) -> Dim:
        return Dim(tuple((m, -c) for m, c in self.terms))

    def __sub__(self, other: Dim) -> Dim:
        return self + -other

    def __mul__(self, other: Dim) -> Dim:
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in other.terms:
                key = tuple(sorted(left + right))
                total[key] = total.get(key, 0) + a * b
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
        total = 0
        for monomial, coefficient in self.terms:
            product = coefficient
            for name in monomial:
                product *= sizes[name]
            total += product
        return total

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        parts = []
        for monomial, coefficient in sorted(self.terms, key=lambda t: (-len(t[0]), t[0])):
            name = "*".join(monomial)
            if not name:
                parts.append(str(coefficient))
            elif coefficient == 1:
                parts.append(name)
            elif coefficient == -1:
                parts.append(f"-{name}")
            else:
                parts.append(f"{coefficient}*{name}")
        return " + ".join(parts).replace("+ -", "- ")
