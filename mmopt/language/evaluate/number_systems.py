"""The number systems: plain or with error bounds, dense or by component.

Dense numbers are computed plainly, or with a proved error bound. The algebra of values that split into
components has the same operations as that of dense values; ``evaluate_and_differentiate`` calls either. There
``diag`` of a level vector scales rows or columns; and where only ``diag`` or ``trace`` needs a product, the
diagonals of its parts are enough: a part may have as many rows as there are orbits of queries.
"""

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.linalg

from mmopt.errors import ProgramError
from mmopt.language.atoms import component_forms
from mmopt.language.atoms.atom import Atom
from mmopt.language.atoms.component_forms import on_basis, on_every_part, require_same_space
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.syntax.exact_rewriting import vectorised
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import Apply, Block, Entries, Expr, Index, Meaning, walk
from mmopt.limits import require_time
from mmopt.numerics import (
    GROW,
    Array,
    Ball,
    Ints,
    Level,
    RootOfMeasure,
    Space,
    Split,
    Unlisted,
    ball_inverse,
    balls,
    float_functions,
    gamma,
    is_structured,
    symmetric_part,
)
from mmopt.numerics.float_functions import Diagonal


@dataclass(frozen=True)
class Numbers:
    """The algebra of dense values: how they are read, multiplied and solved, and how atoms apply to them.

    enter : the check before a node of a tree is evaluated.
    exact : an array, or a float, as it is given. named : the value of a name.
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
        """The atom applied to values."""
        return self.form(ATOMS[atom])(*args, **options)

    def diagonal_matrix(self, value: Any) -> Any:
        """``diag`` of a value as a term: of a vector by its entries."""
        return float_functions.Diagonal(value) if len(np.shape(value)) == 1 else self.call("diag", value)

    def product(self, left: Any, right: Any, inverted: Any = None) -> Any:
        """The product of two terms, around the inverse of a matrix where there is one."""
        return self.times(left, right) if inverted is None else self.solved(left, inverted, right)

    def diagonal(self, left: Any, right: Any, inverted: Any = None) -> Any:
        """The diagonal of the product, which is not formed; None where a side is no matrix."""
        if any(side is None or len(np.shape(side)) != 2 for side in (left, right)):
            return None
        if inverted is None:
            return self.product_diagonal(left, right)
        return self.solved_diagonal(left, inverted, right)

    def of_diagonal(self, atom: str, entries: Any) -> Any:
        """``diag`` or ``trace`` of a matrix, from the entries of its diagonal."""
        return entries if atom == "diag" else self.call("sum", entries)


def _placed(vector: Any, places: Ints, shape: tuple[int, ...]) -> Array:
    """Numbers in their places of an array of zeros."""
    out = np.zeros(shape)
    out.flat[places] = vector
    return out


def _cut(vector: Any, lengths: Sequence[int]) -> list[Any]:
    """A vector as matrices of one column, of these lengths."""
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
    times=float_functions.times,
    whole=float_functions.whole,
    solved=float_functions.solved,
    product_diagonal=float_functions.diagonal_of_product,
    solved_diagonal=float_functions.diagonal_of_solved,
    block=float_functions.block,
    join=lambda numbers: np.concatenate([np.atleast_1d(np.asarray(n, dtype=float)) for n in numbers]),
    grouped=lambda vector, labels, count: np.bincount(labels, vector, minlength=count),
    low=np.asarray,
    placed=_placed,
    stack=lambda matrices: np.concatenate(matrices)[:, 0],
    cut=_cut,
)


# Atoms that make whole numbers of whole numbers, a quotient where it is one, and round what is not whole.
WHOLE = frozenset({"add", "sub", "mul", "div", "matmul", "sum", "trace", "cumsum", "kron"})


def _ball_form(atom: Atom) -> Callable[..., Ball]:
    """The form with error bounds; ProgramError for an atom without one."""
    if atom.ball is None:
        raise ProgramError(f"'{atom.name}' has no error bound", hint="move it into 'let'")
    return _kept_whole(atom.ball) if atom.name in WHOLE else atom.ball


def _kept_whole(form: Callable[..., Any]) -> Callable[..., Any]:
    """A form of ``WHOLE``, exact where whole numbers are known to less than a half: counts choose lines."""

    def kept(*args: Any, **options: Any) -> Any:
        out = form(*args, **options)
        is_close = isinstance(out, Ball) and out.rad.any() and bool((out.rad < 0.5).all())
        if not (is_close and all(map(_is_whole, args))):
            return out
        mid = np.rint(out.mid)
        if form is balls.div:  # whole numbers below 2^53 have exact products
            a, b = (one.mid for one in args)
            is_close = bool((mid * b == a).all() and (np.abs(a) < 2.0**53).all())
        return balls.exact(mid) if is_close else out

    return kept


def _is_whole(a: Any) -> bool:
    """Whether a value is a ball of whole numbers that are known exactly; looked at row by row."""
    is_exact = isinstance(a, Ball) and a.is_exact
    return is_exact and all((row == np.rint(row)).all() for row in np.atleast_2d(a.mid))


def _ball_grouped(vector: Ball, labels: Ints, count: int) -> Ball:
    """The sums of entries by their labels, with what they lose by rounding."""

    def sums(entries: Array) -> Array:
        return np.asarray(np.bincount(labels, entries, minlength=count), dtype=float)

    terms = int(np.bincount(labels, minlength=1).max())
    slip = gamma(terms) * sums(np.abs(np.where(np.isfinite(vector.mid), vector.mid, 0.0))) * GROW
    return balls.rounded(sums(vector.mid), sums(vector.rad) + slip)


BALLS = Numbers(
    enter=lambda expr: require_time(),
    exact=lambda value: value if isinstance(value, Ball) else balls.exact(value),
    named=balls.named,
    form=_ball_form,
    hints=lambda atom, env: {"guess": env[atom.guess]} if atom.guess in env else {},
    # Beyond 2^53 (cells of a large domain) a count is rounded when it becomes a float.
    count=lambda counts: Ball(counts, np.where(counts < 2.0**53, 0.0, balls.U * counts)),
    times=_kept_whole(ball_inverse.times),
    whole=ball_inverse.whole,
    solved=ball_inverse.solved,
    product_diagonal=ball_inverse.diagonal_of_product,
    solved_diagonal=ball_inverse.diagonal_of_solved,
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


def splits(env: Mapping[str, Any]) -> bool:
    """Whether a name has a value that splits into components."""
    return any(is_structured(value) for value in env.values())


@dataclass(frozen=True)
class ByComponent:
    """The algebra of values that split, and of dense ones among them, over a number system."""

    numbers: Numbers

    def enter(self, expr: Expr) -> None:
        """Raises ProgramError where there is no form by components; TimeLimitError as ``require_time``."""
        self.numbers.enter(expr)
        match expr:
            case Index(span=span) | Block(span=span) | Entries(span=span):
                what = "a block matrix" if isinstance(expr, Block) else "an index"
                raise ProgramError(
                    f"{what} has no form by components (line {span.line})",
                    hint="solve the program without the symmetry",
                )
            case Apply(atom=atom) if ATOMS[atom].takes_dim:
                raise ProgramError(
                    f"'{atom}' has no form by components: its size alone does not say how it splits",
                    hint="solve the program without the symmetry",
                )

    def exact(self, value: Any) -> Any:
        """A value as it is given, its parts in the number system."""
        if isinstance(value, Split):
            return Split(value.rows, value.columns, tuple(map(self.numbers.exact, value.parts)))
        if isinstance(value, Level):
            return Level(value.space, self.numbers.exact(value.values))
        return value if isinstance(value, Unlisted) else self.numbers.exact(value)

    def call(self, atom: str, *args: Any, **options: Any) -> Any:
        """The atom applied to values: a Split, a Level or a dense value.

        Raises
        ------
        ProgramError : the atom has no form by components, or none for these arguments (both named).
        """
        if not any(map(is_structured, args)):
            return self.numbers.call(atom, *args, **options)
        form, is_plain = ATOMS[atom].by_component, "axis" not in options
        if form is not None and any(isinstance(a, Split | Unlisted) and not a.is_listed for a in args):
            form = component_forms.on_unlisted_cells
        value = form(self.numbers, atom, *args, **options) if form is not None and is_plain else None
        if value is None:
            axis = "".join(f", {name}={number}" for name, number in options.items())
            raise ProgramError(
                f"'{atom}' has no form by components for {', '.join(map(_word, args))}{axis}",
                hint="solve the program without the symmetry, or write it with other atoms",
            )
        return value

    def diagonal_matrix(self, value: Any) -> Any:
        """``diag`` of a value as a term."""
        return Diagonal(value) if isinstance(value, Level | RootOfMeasure) else self.call("diag", value)

    def whole(self, term: Any) -> Any:
        """A term as a value: its parts formed."""
        return self.call("diag", term.entries) if isinstance(term, Diagonal) else term

    def product(self, left: Any, right: Any, inverted: Any = None) -> Any:
        """The product of two terms; around an inverse it is solved by component, never inverted."""
        if inverted is None:
            return self._times(left, right)
        left, right = self.whole(left), self.whole(right)
        values = [value for value in (left, inverted, right) if value is not None]
        if not any(map(is_structured, values)):
            return self.numbers.solved(left, inverted, right)
        if not all(isinstance(value, Split) for value in values):  # refused by name
            inverse = self.call("inv", inverted)
            return reduce(self._times, [inverse if value is inverted else value for value in values])
        if not inverted.is_listed and len(values) < 3:
            raise ProgramError(
                "the inverse of a matrix over cells that are not listed has no form but between queries",
                hint="write the whole product in one: W @ inv(X) @ W.T",
            )
        sides = [None if side is None else side.parts for side in (left, right)]
        return Split(
            inverted.columns if left is None else left.rows,
            inverted.rows if right is None else right.columns,
            component_forms.solved(self.numbers, sides[0], inverted.parts, sides[1]),
        )

    def _times(self, left: Any, right: Any) -> Any:
        """The product of two terms; a diagonal matrix scales rows or columns."""
        match left, right:
            case Diagonal(), Diagonal():
                return Diagonal(self.call("mul", left.entries, right.entries))
            case Diagonal(), Level():
                return self.call("mul", left.entries, right)
            case Split(), Diagonal(entries=RootOfMeasure() as root):
                return component_forms.times_root(self.numbers, left, root)
            case Diagonal(), Split():
                require_same_space(left.entries.space, right.rows, "matmul")
                return self._scaled(right, tuple(on_basis(self.numbers, left.entries)))
            case Split(), Diagonal():
                require_same_space(right.entries.space, left.columns, "matmul")
                rows = on_every_part(self.numbers, "transpose", tuple(on_basis(self.numbers, right.entries)))
                return self._scaled(left, rows)
        return self.call("matmul", self.whole(left), self.whole(right))

    def _scaled(self, matrix: Split, factors: tuple[Any, ...]) -> Split:
        """Each row, or column, times the level of its basis vector: ``factors``, by component."""
        return Split(matrix.rows, matrix.columns, on_every_part(self.numbers, "mul", factors, matrix.parts))

    def diagonal(self, left: Any, right: Any, inverted: Any = None) -> Any:
        """The rows' space, the diagonals of the parts of a product, which are not formed, in one vector, and
        the order of the parts in it; None where a side does not split."""
        if inverted is not None:
            left, right = self.whole(left), self.whole(right)
        if not (isinstance(left, Split) and isinstance(right, Split) and isinstance(inverted, Split | None)):
            return None
        if not (left.rows.is_listed and (inverted is not None or left.columns.is_listed)):
            return None
        require_same_space(left.rows, right.columns, "diag")
        if inverted is not None:
            require_same_space(left.columns, inverted.rows, "matmul")
            require_same_space(inverted.columns, right.rows, "matmul")
            return left.rows, *component_forms.solved_diagonals(
                self.numbers, left.parts, inverted.parts, right.parts
            )
        require_same_space(left.columns, right.rows, "matmul")
        products = on_every_part(
            self.numbers, "mul", left.parts, on_every_part(self.numbers, "transpose", right.parts)
        )
        return left.rows, *component_forms.vector(self.numbers, "sum", products, axis=1)

    def of_diagonal(self, atom: str, diagonal: tuple[Space, Any, list[int]]) -> Any:
        """``diag`` or ``trace`` of a matrix, from the diagonals of its parts."""
        space, entries, order = diagonal
        if atom == "diag":
            return component_forms.spread(self.numbers, space, entries, order)
        copies = np.repeat(space.multiplicities[order], [space.dims[at] for at in order])
        return self.call("sum", self.call("mul", self.numbers.count(copies), entries))


def _word(value: Any) -> str:
    """The kind of a value in words, for messages."""
    structured = (
        (Unlisted, "a vector over cells that are not listed"),
        (Split, "a matrix that splits into components"),
        (Level, "a vector that is constant on orbits"),
    )
    dense = ("a number", "a dense vector", "a dense matrix")[min(len(np.shape(value)), 2)]
    return next((word for kind, word in structured if isinstance(value, kind)), dense)


def without_form(program: Program) -> str:
    """The first part without a form by components, in words with its constraint; "" if every part has one.

    Checked are those that a solve evaluates: lets, objective, constraints, repair, certificate and meaning.
    A part that passes may still be refused when it is evaluated, because of the values of its arguments.
    """
    for name, expr in _lines(program):
        if expr is None:
            return f"the family '{name}' (not one vector inequality)"
        for node in walk(expr):
            if isinstance(node, Index | Entries):
                return f"an index in '{name}'"
            if isinstance(node, Block):
                return f"the block matrix in '{name}'"
            if isinstance(node, Apply) and (ATOMS[node.atom].by_component is None or node.options):
                return f"'{node.atom}' in '{name}'"
    return ""


def _lines(program: Program) -> Iterator[tuple[str, Expr | None]]:
    """The expressions that a solve evaluates, by name; None for a side of a family without a vector form."""
    yield from ((let.name, let.expr) for let in program.lets)
    if program.objective is not None:
        yield "the objective", program.objective
    for c in program.constraints:
        for side in (c.relation.left, c.relation.right):
            yield c.name, side if c.family is None else vectorised(side, c.family.index)
    yield from ((f"repair of {a.name}", a.expr) for a in program.repair)
    if program.certificate is not None:
        yield "the certificate", program.certificate.expr
    yield from ((f"the start of {m.key}", m.start) for m in program.multipliers if m.start is not None)
    if program.meaning is not None:
        yield program.meaning.kind, program.meaning.expr


def split_meaning(
    meaning: Meaning, value: Split, env: Mapping[str, Any]
) -> tuple[Split, Split | None, Split | None]:
    """The strategy that a program means by a value; covariance and basis where it states those."""
    if meaning.kind == "strategy":
        return value, None, None
    basis: Split = env[meaning.basis]
    covariance = Split(value.rows, value.columns, tuple(symmetric_part(part) for part in value.parts))
    parts = tuple(_whitened(s, b) for s, b in zip(covariance.parts, basis.parts, strict=True))
    return Split(basis.rows, basis.columns, parts), covariance, basis


def _whitened(covariance: Array, basis: Array) -> Array:
    """Σ^(-1/2) B."""
    values, vectors = scipy.linalg.eigh(covariance)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ basis)
