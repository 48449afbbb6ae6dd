"""The two ways to compute with numbers: plainly, or with a proved error bound.

What is written once for both (the structured forms of the atoms) takes one of these rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.atoms.table import ATOMS
from mmopt.numerics import balls, numpy_forms
from mmopt.numerics.ball_inverse import sandwich, sandwich_diagonal
from mmopt.numerics.balls import GROW, Ball, gamma
from mmopt.numerics.components import Ints
from mmopt.numerics.numpy_forms import Array
from mmopt.numerics.products import diagonal_of_product

__all__ = ["BALLS", "PLAIN", "Numbers"]


@dataclass(frozen=True)
class Numbers:
    """How arrays are read, what an atom does to them, and what numpy does by indexing.

    exact : an array, or a float, as it is given.
    count : whole numbers that are held as floats, (k,).
    call : an atom by its name, with its arguments and options.
    solved : ``left @ inv(matrix) @ right``, where left or right may be None.
    solved_diagonal : its diagonal, where both are there.
    take : entries of a vector by their numbers.
    join : a vector of numbers.
    grouped : the sums of a vector's entries by their labels 0 … count - 1.
    shape : of a matrix. low : its entries from below.
    stack : the entries of matrices of one column as a vector; cut : a vector as such matrices, of given
        lengths.
    """

    exact: Callable[[Any], Any]
    count: Callable[[Array], Any]
    call: Callable[..., Any]
    solved: Callable[[Any, Any, Any], Any]
    solved_diagonal: Callable[[Any, Any, Any], Any]
    take: Callable[[Any, Ints], Any]
    join: Callable[[Sequence[Any]], Any]
    grouped: Callable[[Any, Ints, int], Any]
    shape: Callable[[Any], tuple[int, ...]]
    low: Callable[[Any], Array]
    stack: Callable[[Sequence[Any]], Any]
    cut: Callable[[Any, Sequence[int]], list[Any]]


def _stacked(matrices: Sequence[Array]) -> Array:
    return np.concatenate(matrices)[:, 0]


def _cut(vector: Array, lengths: Sequence[int]) -> list[Array]:
    column = np.reshape(vector, (-1, 1))
    return [
        column[end - length : end] for end, length in zip(itertools.accumulate(lengths), lengths, strict=True)
    ]


def _called(atom: str, *args: Any, **options: Any) -> Any:
    return ATOMS[atom].numpy(*args, **options)


def _solved(left: Any, matrix: Array, right: Any) -> Any:
    if right is None:
        return numpy_forms.inv(matrix) if left is None else numpy_forms.solve(matrix.T, left.T).T
    found = numpy_forms.solve(matrix, right)
    if left is None:
        return found
    return left @ found if np.isfinite(found).all() else np.full((len(left), found.shape[1]), np.inf)


def _solved_diagonal(left: Array, matrix: Array, right: Array) -> Array:
    found = numpy_forms.solve(matrix, right)
    if not np.isfinite(found).all():
        return np.full(len(left), np.inf)
    return diagonal_of_product(left, found)


PLAIN = Numbers(
    exact=lambda value: value,
    count=lambda counts: counts,
    call=_called,
    solved=_solved,
    solved_diagonal=_solved_diagonal,
    take=lambda vector, index: vector[index],
    join=lambda numbers: np.concatenate([np.atleast_1d(np.asarray(n, dtype=float)) for n in numbers]),
    grouped=lambda vector, labels, count: np.bincount(labels, vector, minlength=count),
    shape=lambda matrix: matrix.shape,
    low=np.asarray,
    stack=_stacked,
    cut=_cut,
)


def _ball_count(counts: Array) -> Ball:
    # Beyond 2^53 (cells of a large domain) a count was rounded when it became a float.
    return Ball(counts, np.where(counts < 2.0**53, 0.0, balls.U * counts))


def _ball_called(atom: str, *args: Any, **options: Any) -> Any:
    row = ATOMS[atom]
    if row.ball is None:
        raise ProgramError(f"'{atom}' has no error bound", hint="move it into 'let'")
    return row.ball(*args, **options)


def _ball_solved(left: Any, matrix: Ball, right: Any) -> Ball:
    same = balls.exact(np.eye(len(matrix.mid)))
    return sandwich(same if left is None else left, matrix, same if right is None else right)


def _ball_grouped(vector: Ball, labels: Ints, count: int) -> Ball:
    def sums(entries: Array) -> Array:
        return np.asarray(np.bincount(labels, entries, minlength=count), dtype=float)

    terms = int(np.bincount(labels, minlength=1).max())
    finite = np.where(np.isfinite(vector.mid), vector.mid, 0.0)
    slip = gamma(terms) * sums(np.abs(finite)) * GROW
    return balls.rounded(sums(vector.mid), sums(vector.rad) + slip)


def _ball_cut(vector: Ball, lengths: Sequence[int]) -> list[Ball]:
    pairs = zip(_cut(vector.mid, lengths), _cut(vector.rad, lengths), strict=True)
    return [Ball(mid, rad) for mid, rad in pairs]


BALLS = Numbers(
    exact=lambda value: value if isinstance(value, Ball) else balls.exact(value),
    count=_ball_count,
    call=_ball_called,
    solved=_ball_solved,
    solved_diagonal=sandwich_diagonal,
    take=lambda vector, index: Ball(vector.mid[index], vector.rad[index]),
    join=lambda numbers: Ball(
        np.concatenate([np.atleast_1d(n.mid) for n in numbers]),
        np.concatenate([np.atleast_1d(n.rad) for n in numbers]),
    ),
    grouped=_ball_grouped,
    shape=lambda ball: ball.mid.shape,
    low=lambda ball: ball.lower,
    stack=lambda matrices: Ball(_stacked([m.mid for m in matrices]), _stacked([m.rad for m in matrices])),
    cut=_ball_cut,
)
