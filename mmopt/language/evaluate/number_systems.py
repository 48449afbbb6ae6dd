"""The two ways to compute with dense numbers: plainly, or with a proved error bound."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.syntax_tree import Expr
from mmopt.limits import require_time
from mmopt.numerics import ball_products, balls, matrix_functions, unformed_products
from mmopt.numerics.arrays import Array, Ints
from mmopt.numerics.balls import GROW, Ball, gamma

__all__ = ["BALLS", "PLAIN", "Numbers"]


@dataclass(frozen=True)
class Numbers:
    """The algebra of dense values: how they are read, multiplied and solved, and what an atom does to them.

    enter : what is looked at before a node of a tree is evaluated.
    exact : an array, or a float, as it is given. named : what a name stands for.
    form : of an atom. hints : options of that form that values hold.
    count : whole numbers that are held as floats, (k,).
    times : the product of two terms. whole : a term as a value.
    solved : ``left @ inv(matrix) @ right``, where left or right may be None.
    product_diagonal, solved_diagonal : the diagonals, of matrices, without the products.
    block : a block matrix. join : a vector of numbers. low : the entries of a matrix from below.
    grouped : the sums of a vector's entries by their labels 0 … count - 1.
    placed : a vector, or one number for all, in given places of an array of zeros.
    stack : the entries of matrices of one column as a vector; cut : a vector as such matrices, of given
        lengths.
    """

    enter: Callable[[Expr], None]
    exact: Callable[[Any], Any]
    named: Callable[[str, Mapping[str, Any]], Any]
    form: Callable[[Atom], Callable[..., Any]]
    hints: Callable[[Atom, Mapping[str, Any]], Mapping[str, Any]]
    count: Callable[[Array], Any]
    times: Callable[[Any, Any], Any]
    whole: Callable[[Any], Any]
    solved: Callable[[Any, Any, Any], Any]
    product_diagonal: Callable[[Any, Any], Any]
    solved_diagonal: Callable[[Any, Any, Any], Any]
    block: Callable[[Sequence[Sequence[tuple[Any, bool]]]], Any]
    join: Callable[[Sequence[Any]], Any]
    grouped: Callable[[Any, Ints, int], Any]
    low: Callable[[Any], Array]
    placed: Callable[[Any, Ints, tuple[int, ...]], Any]
    stack: Callable[[Sequence[Any]], Any]
    cut: Callable[[Any, Sequence[int]], list[Any]]

    def row(self, atom: str) -> Atom:
        """The atom's row of the table."""
        return ATOMS[atom]

    def call(self, atom: str, *args: Any, **options: Any) -> Any:
        """What the atom does to values."""
        return self.form(ATOMS[atom])(*args, **options)

    def diagonal_matrix(self, value: Any) -> Any:
        """``diag`` of a value as a term: of a vector by its entries."""
        return unformed_products.Diagonal(value) if len(np.shape(value)) == 1 else self.call("diag", value)

    def product(self, left: Any, right: Any, inverted: Any = None) -> Any:
        """The product of two terms, around the inverse of a matrix where there is one."""
        return self.times(left, right) if inverted is None else self.solved(left, inverted, right)

    def diagonal(self, left: Any, right: Any, inverted: Any = None) -> Any:
        """The diagonal of the product, without that; None where a side is no matrix."""
        if any(side is None or len(np.shape(side)) != 2 for side in (left, right)):
            return None
        if inverted is None:
            return self.product_diagonal(left, right)
        return self.solved_diagonal(left, inverted, right)

    def of_diagonal(self, atom: str, entries: Any) -> Any:
        """``diag`` or ``trace`` of a matrix, from the entries of its diagonal."""
        return entries if atom == "diag" else self.call("sum", entries)


def _stacked(matrices: Sequence[Array]) -> Array:
    return np.concatenate(matrices)[:, 0]


def _placed(vector: Any, places: Ints, shape: tuple[int, ...]) -> Array:
    out = np.zeros(shape)
    out.flat[places] = vector
    return out


def _cut(vector: Any, lengths: Sequence[int]) -> list[Any]:
    column = vector[:, None]
    ends = itertools.accumulate(lengths)
    return [column[end - length : end] for end, length in zip(ends, lengths, strict=True)]


PLAIN = Numbers(
    enter=lambda expr: require_time(),
    # Numpy's whole numbers wrap around.
    exact=lambda value: float(value) if isinstance(value, int) else value,
    named=lambda name, env: env[name],
    form=lambda atom: atom.numpy,
    hints=lambda atom, env: {},
    count=lambda counts: counts,
    times=unformed_products.times,
    whole=unformed_products.whole,
    solved=unformed_products.solved,
    product_diagonal=unformed_products.diagonal_of_product,
    solved_diagonal=unformed_products.diagonal_of_solved,
    block=matrix_functions.block,
    join=lambda numbers: np.concatenate([np.atleast_1d(np.asarray(n, dtype=float)) for n in numbers]),
    grouped=lambda vector, labels, count: np.bincount(labels, vector, minlength=count),
    low=np.asarray,
    placed=_placed,
    stack=_stacked,
    cut=_cut,
)


def _ball_form(atom: Atom) -> Callable[..., Ball]:
    if atom.ball is None:
        raise ProgramError(f"'{atom.name}' has no error bound", hint="move it into 'let'")
    return atom.ball


def _ball_grouped(vector: Ball, labels: Ints, count: int) -> Ball:
    def sums(entries: Array) -> Array:
        return np.asarray(np.bincount(labels, entries, minlength=count), dtype=float)

    terms = int(np.bincount(labels, minlength=1).max())
    finite = np.where(np.isfinite(vector.mid), vector.mid, 0.0)
    slip = gamma(terms) * sums(np.abs(finite)) * GROW
    return balls.rounded(sums(vector.mid), sums(vector.rad) + slip)


BALLS = Numbers(
    enter=lambda expr: require_time(),
    exact=lambda value: value if isinstance(value, Ball) else balls.exact(value),
    named=balls.named,
    form=_ball_form,
    hints=lambda atom, env: {"guess": env[atom.guess]} if atom.guess in env else {},
    # Beyond 2^53 (cells of a large domain) a count was rounded when it became a float.
    count=lambda counts: Ball(counts, np.where(counts < 2.0**53, 0.0, balls.U * counts)),
    times=ball_products.times,
    whole=ball_products.whole,
    solved=ball_products.solved,
    product_diagonal=ball_products.diagonal_of_product,
    solved_diagonal=ball_products.diagonal_of_solved,
    block=balls.block,
    join=lambda numbers: balls.joined([Ball(np.atleast_1d(n.mid), np.atleast_1d(n.rad)) for n in numbers]),
    grouped=_ball_grouped,
    low=lambda ball: ball.lower,
    placed=lambda ball, places, shape: Ball(
        _placed(ball.mid, places, shape), _placed(ball.rad, places, shape)
    ),
    stack=lambda matrices: balls.joined(matrices)[:, 0],
    cut=_cut,
)
