"""A conic problem whose data are exact: the decimals of a file, each in a ball that holds it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flint import arb

__all__ = ["Entries", "ExactCone", "ExactProblem"]

Entries = Sequence[arb]


@dataclass(frozen=True)
class ExactCone:
    """``a @ x + b`` lies in a cone.

    kind : a key of ``exact_cones.KINDS``, or "zero". size : its rows, of a psd cone the side n.
    columns : by the number of the unknown its coefficients by row. b : by row, zeros left out. The rows of a
    psd cone are the lower triangle of its matrix: i * n + j with i >= j.
    """

    kind: str
    size: int
    columns: Mapping[int, Mapping[int, arb]]
    b: Mapping[int, arb]

    def point(self, x: Entries) -> list[arb]:
        """``a @ x + b``: by row, zeros included; of a psd cone the whole matrix row by row."""
        found = self.image(x)
        for row, value in self.b.items():
            for place in self._places(row):
                found[place] += value
        return found

    def image(self, x: Entries) -> list[arb]:
        """``a @ x``, as ``point``."""
        found = [arb(0)] * (self.size**2 if self.kind == "psd" else self.size)
        for column, entries in self.columns.items():
            for row, value in entries.items():
                for place in self._places(row):
                    found[place] += value * x[column]
        return found

    def across(self, y: Entries) -> dict[int, arb]:
        """``a.T @ y`` by unknown, for a y like ``point``."""
        return {column: self._product(entries, y) for column, entries in self.columns.items()}

    def constant(self, y: Entries) -> arb:
        """``b @ y``."""
        return self._product(self.b, y)

    def _product(self, entries: Mapping[int, arb], y: Entries) -> arb:
        return sum(
            (value * y[place] for row, value in entries.items() for place in self._places(row)), arb(0)
        )

    def _places(self, row: int) -> tuple[int, ...]:
        """Where a row stands: an entry beside the diagonal of a matrix stands twice."""
        if self.kind != "psd":
            return (row,)
        i, j = divmod(row, self.size)
        return (row,) if i == j else (row, j * self.size + i)


@dataclass(frozen=True)
class ExactProblem:
    """minimize (or maximize) ``c @ x + offset`` subject to all cones.

    sense : "minimize" or "maximize". c : (unknowns,).
    """

    sense: str
    c: Entries
    offset: arb
    cones: tuple[ExactCone, ...]
