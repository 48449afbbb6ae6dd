"""Matrices known by a part per component, and vectors known by a value per orbit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mmopt.numerics.component_space import Space

__all__ = ["Level", "Split"]


@dataclass(frozen=True, eq=False)
class Split:
    """The matrix Σ_κ S_κ (part_κ ⊗ I_μ) T_κᵀ from ``columns`` to ``rows``, spaces with the same components.

    ``parts``: one matrix (rows.dims[κ], columns.dims[κ]) per component; numpy arrays or balls.
    """

    rows: Space
    columns: Space
    parts: tuple[Any, ...]

    @property
    def multiplicities(self) -> Any:
        """(K,) how often each part stands in the matrix."""
        return self.columns.multiplicities

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the dense matrix, in Python ints."""
        return self.rows.size, self.columns.size


@dataclass(frozen=True, eq=False)
class Level:
    """The vector with ``values[o]`` at every coordinate of orbit o; an array (o,) or a ball."""

    space: Space
    values: Any

    @property
    def shape(self) -> tuple[int]:
        """The shape of the dense vector, in a Python int."""
        return (self.space.size,)
