"""Coordinates of the row space of queries of at most two of k equal attributes, by irreducible components.

Let e be the contrasts of the values (c of them) and v_i = e(x_i), V_ij = e(x_i) e(x_j)ᵀ, with symmetric part
s_ij and antisymmetric part a_ij. Under permutations of the attributes the space splits into

- *trivial*: 1, √k mean v, √(k(k-1)/2) mean s;
- *standard*, k - 1 times: v_i - mean, √(k-2) a_i, √k c_i, of the parts s_ij = mean + a_i + a_j + r_ij and
  a_ij = c_i - c_j + ρ_ij with sums over j of zero (of two attributes: v and c alone);
- *(k-2, 2)*, k(k-3)/2 times: r_ij; and *(k-2, 1, 1)*, (k-1)(k-2)/2 times: ρ_ij

(Fulton and Harris, Representation Theory, §4; these are orthonormal). Of a measure that permutations leave
alone the moments on a component are made of those of two functions, each of one or two attributes, that have
some of their attributes in common. ``_coefficients`` says of how much of which; the same table, read the
other way, makes of N the function F of four attributes whose mean over all choices of four is f.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mmopt.numerics.arrays import Array, require_memory
from mmopt.sectors.equal.sampled_values import diagonal, letters_of, symmetric

__all__ = ["PairComponent", "PairCoordinates", "contrasts"]

WIDTHS = {"constant": 0, "one": 1, "symmetric": 2, "antisymmetric": 2}
"""Of how many attributes the functions of a part are."""


@dataclass(frozen=True)
class PairComponent:
    """A component: its parts in order, and how often it stands in the space."""

    name: str
    multiplicity: int
    parts: tuple[str, ...]


def contrasts(size: int) -> Array:
    """(size - 1, size) functions of mean zero, orthonormal under the uniform measure: Helmert's."""
    rows = np.zeros((size - 1, size))
    for r in range(1, size):
        rows[r - 1, :r], rows[r - 1, r] = 1.0, -r
        rows[r - 1] *= math.sqrt(size / (r * (r + 1)))
    return rows


@dataclass(frozen=True, eq=False)
class PairCoordinates:
    """The components of k >= 2 attributes of ``size`` values, for queries of ``order`` of them, 1 or 2.

    Raises
    ------
    TooLargeError : a law of four values that does not fit in memory.
    """

    attributes: int
    size: int
    order: int

    def __post_init__(self) -> None:
        require_memory((self.size,) * (2 * self.order), "joint law of the values of four attributes")

    @property
    def places(self) -> int:
        """Attributes that the moments are of, at most: those of two queries."""
        return min(2 * self.order, self.attributes)

    @cached_property
    def components(self) -> tuple[PairComponent, ...]:
        """Those that there are, of positive multiplicity and dimension."""
        k, pairs = self.attributes, self.order > 1
        standard = ("one", "symmetric", "antisymmetric") if k > 2 else ("one", "antisymmetric")
        all_of_them = (
            PairComponent("trivial", 1, ("constant", "one", "symmetric") if pairs else ("constant", "one")),
            PairComponent("standard", k - 1, standard if pairs else ("one",)),
            PairComponent("(k-2, 2)", k * (k - 3) // 2 if pairs else 0, ("symmetric",)),
            PairComponent("(k-2, 1, 1)", (k - 1) * (k - 2) // 2 if pairs else 0, ("antisymmetric",)),
        )
        return tuple(own for own in all_of_them if own.multiplicity > 0 and self.dim(own))

    def dim(self, component: PairComponent) -> int:
        """The dimension of a component."""
        c = self.size - 1
        dims = {"constant": 1, "one": c, "symmetric": c * (c + 1) // 2, "antisymmetric": c * (c - 1) // 2}
        return sum(dims[part] for part in component.parts)

    @cached_property
    def contrasts(self) -> Array:
        """(c, size) the functions e of one attribute."""
        return contrasts(self.size)

    @cached_property
    def halves(self) -> dict[str, Array]:
        """Orthonormal rows (·, c²): the symmetric and the antisymmetric part of a flattened matrix (c, c)."""
        c = self.size - 1
        root = math.sqrt(0.5)
        a, b = np.triu_indices(c)
        up, down, which = a * c + b, b * c + a, np.arange(len(a))
        even = np.zeros((len(a), c * c))
        even[which, up] = even[which, down] = np.where(a == b, 1.0, root)
        odd = np.zeros((len(a), c * c))
        odd[which, up], odd[which, down] = root, -root
        return {"symmetric": even, "antisymmetric": odd[a < b]}

    @cached_property
    def functions(self) -> dict[str, Array]:
        """The values of each part's functions, (·, size ** width)."""
        single = {"constant": np.ones((1, 1)), "one": self.contrasts}
        if self.order == 1:
            return single
        pair = np.kron(self.contrasts, self.contrasts)
        return single | {name: half @ pair for name, half in self.halves.items()}

    # -- moments, and what they are dual to

    def moments(self, law: Array, absolute: bool = False) -> tuple[Array, ...]:
        """Q of each component, of the law of the values of ``places`` attributes (symmetric).

        With ``absolute`` every number is replaced by its magnitude: what the rounding of Q is relative to.
        """
        laws = {law.ndim: law}
        for m in range(law.ndim, 0, -1):
            laws[m - 1] = laws[m].sum(axis=-1)
        found = []
        for component in self.components:
            blocks: list[list[Array]] = [[] for _ in component.parts]
            for (i, left), (j, right) in self._pairs(component):
                own = blocks[j][i].T if j < i else self._block(component, left, right, laws, absolute)
                blocks[i].append(own)
            found.append(np.block(blocks))
        return tuple(found)

    def _block(
        self, component: PairComponent, left: str, right: str, laws: dict[int, Array], absolute: bool
    ) -> Array:
        magnitude = np.abs if absolute else np.asarray
        values = np.zeros((self.size,) * (WIDTHS[left] + WIDTHS[right]))
        for shape, factor in self._shapes(component, left, right):
            diagonal(values, shape)[...] += magnitude(factor) * laws[len(letters_of(shape))]
        one, other = (magnitude(self.functions[own]) for own in (left, right))
        return np.asarray(one @ values.reshape(one.shape[1], other.shape[1]) @ other.T)

    def function(self, parts: Sequence[Array], absolute: bool = False) -> Array:
        """F (size, …), symmetric: f is its mean over all choices of ``places`` attributes in order.

        With ``absolute`` every number is replaced by its magnitude: what the rounding of F is relative to.
        """
        magnitude = np.abs if absolute else np.asarray
        found = np.zeros((self.size,) * self.places)
        for component, part in zip(self.components, parts, strict=True):
            ends = np.cumsum([0, *(len(self.functions[own]) for own in component.parts)])
            for (i, left), (j, right) in self._pairs(component):
                one, other = (magnitude(self.functions[own]) for own in (left, right))
                inner = magnitude(part[ends[i] : ends[i + 1], ends[j] : ends[j + 1]])
                values = (one.T @ inner @ other).reshape((self.size,) * (WIDTHS[left] + WIDTHS[right]))
                for shape, factor in self._shapes(component, left, right):
                    term = diagonal(values, shape)
                    spread = term.reshape(term.shape + (1,) * (self.places - term.ndim))
                    found += component.multiplicity * magnitude(factor) * spread
        return symmetric(found)

    @staticmethod
    def _pairs(component: PairComponent) -> Iterator[tuple[tuple[int, str], tuple[int, str]]]:
        parts = list(enumerate(component.parts))
        return ((left, right) for left in parts for right in parts)

    def _shapes(self, component: PairComponent, left: str, right: str) -> Iterator[tuple[str, float]]:
        """By how many attributes two functions have in common: their letters, and a coefficient."""
        if WIDTHS[left] > WIDTHS[right] or (left, right) == ("antisymmetric", "symmetric"):
            for shape, factor in self._shapes(component, right, left):
                yield shape[WIDTHS[right] :] + shape[: WIDTHS[right]], factor
            return
        for common, factor in enumerate(self._coefficients(component.name, left, right)):
            # Of two or three attributes no two pairs are disjoint: their coefficient is zero.
            if factor:
                first = "ab"[: WIDTHS[left]]
                yield first + first[:common] + "cd"[: WIDTHS[right] - common], factor

    def _coefficients(self, name: str, left: str, right: str) -> tuple[float, ...]:
        """Of moments of functions with no, one, two attributes in common."""
        k = self.attributes
        match name, left, right:
            case "trivial", "constant", "constant":
                return (1.0,)
            case "trivial", "constant", "one":
                return (math.sqrt(k),)
            case "trivial", "constant", "symmetric":
                return (math.sqrt(k * (k - 1) / 2),)
            case "trivial", "one", "one":
                return (k - 1.0, 1.0)
            case "trivial", "one", "symmetric":
                return (math.sqrt((k - 1) / 2) * (k - 2), math.sqrt(2.0 * (k - 1)))
            case "trivial", "symmetric", "symmetric":
                return ((k - 2) * (k - 3) / 2, 2.0 * (k - 2), 1.0)
            case "standard", "one", "one":
                return (-1.0, 1.0)
            case "standard", "one", "symmetric":
                return (-math.sqrt(k - 2), math.sqrt(k - 2))
            case "standard", "one", "antisymmetric":
                return (0.0, math.sqrt(k))
            case "standard", "symmetric", "symmetric":
                return (3.0 - k, k - 4.0, 1.0)
            case "standard", "symmetric", "antisymmetric":
                return (0.0, math.sqrt(k * (k - 2)))
            case "standard", "antisymmetric", "antisymmetric":
                return (0.0, k - 2.0, 1.0)
            case "(k-2, 2)", _, _:
                return (1.0, -2.0, 1.0)
        return (0.0, -2.0, 1.0)
