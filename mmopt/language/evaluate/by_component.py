"""Evaluate expressions and relations on values that split into components (see ``structured``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.check.families import vectorised
from mmopt.language.evaluate import scalars, structured
from mmopt.language.evaluate.component_products import Scaling, diagonal, solved_diagonal, times, whole
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, Numbers
from mmopt.language.evaluate.structured import is_structured
from mmopt.language.syntax.tree import Apply, Block, Constraint, Expr, Index, Name, Number, chain
from mmopt.numerics import balls, numpy_forms
from mmopt.numerics.ball_nuclear import GUESS, nuclear
from mmopt.numerics.components import Level, Split

__all__ = ["floored", "lowest_eigenvalue", "offs", "plainly", "splits", "with_bound"]

Env = Mapping[str, Any]


def splits(env: Env) -> bool:
    """Whether a name stands for a value that splits into components."""
    return any(isinstance(value, Split | Level) for value in env.values())


def plainly(expr: Expr, env: Env) -> Any:
    """The value: a Split, a Level, or what it would be densely.

    Raises
    ------
    ProgramError : an atom or an index that has no form by components.
    """
    return _value(expr, env, PLAIN)


def with_bound(expr: Expr, env: Env) -> Any:
    """The same with error bounds: a ball, or a Split or Level of balls.

    Names count as exact, but for those whose parts or values are balls already.
    """
    return _value(expr, env, BALLS)


def _value(expr: Expr, env: Env, numbers: Numbers) -> Any:
    match expr:
        case Number(value=value):
            return numbers.exact(value)
        case Name(id=name):
            return _named(balls.named(name, env) if numbers is BALLS else env[name], numbers)
        case Index(span=span) | Block(span=span):
            what = "an index" if isinstance(expr, Index) else "a block matrix"
            raise ProgramError(
                f"{what} has no form by components (line {span.line})",
                hint="solve the program without the symmetry",
            )
        case Apply(atom="matmul"):
            return whole(numbers, _factor(expr, env, numbers))
        case Apply(atom="diag", args=(Apply(atom="matmul") as product,)) if not _inverses(product):
            left, right = (_factor(a, env, numbers) for a in product.args)
            if isinstance(left, Split) and isinstance(right, Split):
                return diagonal(numbers, left, right)
            return _applied(numbers, "diag", (whole(numbers, times(numbers, left, right)),), {})
        case Apply(atom="nuclear", args=(inner,)) if GUESS in env and numbers is BALLS:
            return _nuclear(_value(inner, env, numbers), env[GUESS], numbers)
        case Apply(atom="diag" | "trace" as atom, args=(Apply(atom="matmul") as product,)):
            return _diagonal(atom, product, env, numbers)
        case Apply(atom="eye" | "ones" as atom):
            raise ProgramError(
                f"'{atom}' has no form by components: its size alone does not say how it splits",
                hint="solve the program without the symmetry",
            )
        case _:
            pass
    args = tuple(_value(a, env, numbers) for a in expr.args)
    return _applied(numbers, expr.atom, args, dict(expr.options))


def _factor(expr: Expr, env: Env, numbers: Numbers) -> Any:
    """A factor of a product, or a product; around one inverse it is solved."""
    match expr:
        case Apply(atom="matmul", args=(left, right)):
            at = _inverses(expr)
            if len(at) == 1:
                return _solved(chain(expr), at[0], env, numbers)
            return times(numbers, _factor(left, env, numbers), _factor(right, env, numbers))
        case Apply(atom="diag", args=(inner,)) if not (isinstance(inner, Apply) and inner.atom == "matmul"):
            value = _value(inner, env, numbers)
            return Scaling(value) if isinstance(value, Level) else _applied(numbers, "diag", (value,), {})
        case _:
            return _value(expr, env, numbers)


def _nuclear(value: Any, guesses: tuple[Any, ...], numbers: Numbers) -> Any:
    """The nuclear norm, of parts whose polar factors may be nearly known."""
    if not isinstance(value, Split) or len(value.parts) != len(guesses):
        return _applied(numbers, "nuclear", (value,), {})
    each = numbers.join([nuclear(*pair) for pair in zip(value.parts, guesses, strict=True)])
    return numbers.call("sum", numbers.call("mul", numbers.count(value.multiplicities), each))


def _diagonal(atom: str, product: Apply, env: Env, numbers: Numbers) -> Any:
    """``diag`` or ``trace`` of a product, which is not formed where one inverse stands inside it."""
    factors = chain(product)
    at = _inverses(product)
    if len(at) != 1 or not 0 < at[0] < len(factors) - 1:
        return _applied(numbers, atom, (whole(numbers, _factor(product, env, numbers)),), {})
    left, matrix, right = _around(factors, at[0], env, numbers)
    if not all(isinstance(v, Split) for v in (left, matrix, right)):
        return _applied(numbers, atom, (_put_together(left, matrix, right, numbers),), {})
    return solved_diagonal(numbers, atom, left, matrix, right)


def _inverses(product: Apply) -> list[int]:
    """Where inverses stand in a product."""
    return [i for i, f in enumerate(chain(product)) if isinstance(f, Apply) and f.atom == "inv"]


def _applied(numbers: Numbers, atom: str, args: tuple[Any, ...], options: Mapping[str, int]) -> Any:
    if any(is_structured(a) for a in args):
        return structured.apply(numbers, atom, args, options)
    return numbers.call(atom, *args, **options)


def _named(value: Any, numbers: Numbers) -> Any:
    if isinstance(value, Split):
        return Split(value.rows, value.columns, tuple(numbers.exact(part) for part in value.parts))
    if isinstance(value, Level):
        return Level(value.space, numbers.exact(value.values))
    return numbers.exact(value)


def _around(factors: list[Expr], at: int, env: Env, numbers: Numbers) -> tuple[Any, Any, Any]:
    """What stands before the inverse, the matrix that is inverted, and what stands behind."""
    inverse = factors[at]
    assert isinstance(inverse, Apply)
    matrix = _value(inverse.args[0], env, numbers)
    return _product(factors[:at], env, numbers), matrix, _product(factors[at + 1 :], env, numbers)


def _solved(factors: list[Expr], at: int, env: Env, numbers: Numbers) -> Any:
    """A product around one ``inv``."""
    return _put_together(*_around(factors, at, env, numbers), numbers)


def _put_together(left: Any, matrix: Any, right: Any, numbers: Numbers) -> Any:
    """``left @ inv(matrix) @ right``, solved by component, never inverted, as densely."""
    known = [v for v in (left, matrix, right) if v is not None]
    if not any(is_structured(v) for v in known):
        return numbers.solved(left, matrix, right)
    if not all(isinstance(v, Split) for v in known):
        middle = structured.apply(numbers, "inv", (matrix,), {})
        for one, first in ((left, True), (right, False)):
            if one is not None:
                middle = structured.apply(numbers, "matmul", (one, middle) if first else (middle, one), {})
        return middle
    sides = [None if side is None else side.parts for side in (left, right)]
    parts = scalars.solved(numbers, sides[0], matrix.parts, sides[1])
    rows = left.rows if left is not None else matrix.columns
    return Split(rows, right.columns if right is not None else matrix.rows, parts)


def _product(factors: list[Expr], env: Env, numbers: Numbers) -> Any:
    value = None
    for f in factors:
        own = _factor(f, env, numbers)
        value = own if value is None else times(numbers, value, own)
    return whole(numbers, value)


def offs(constraint: Constraint, env: Env) -> Iterator[tuple[float, float, tuple[int, ...]]]:
    """The largest violation (negative: to spare), the size of the sides, and the orbit where it is.

    A family is read as one vector constraint, of which each orbit counts by itself, as each index does
    densely. One that has no such form is refused (ProgramError), as are matrices compared entry by entry.
    """
    relation = constraint.relation
    sides = [relation.left, relation.right]
    if constraint.family is not None:
        vectors = [vectorised(side, constraint.family.index) for side in sides]
        sides = [side for side in vectors if side is not None]
        if len(sides) < len(vectors):
            raise ProgramError(
                f"the family '{constraint.name}' has no form by components",
                hint="solve the program without the symmetry",
            )
    left, right = (plainly(side, env) for side in sides)
    if relation.op in ("<<", ">>"):
        yield _off_order(left, right) if relation.op == ">>" else _off_order(right, left)
        return
    if isinstance(left, Split) or isinstance(right, Split):
        raise ProgramError(f"'{relation.op}' between matrices has no form by components", hint="use << or >>")
    if relation.op == ">=":
        left, right = right, left
    small, large = (np.asarray(s.values if isinstance(s, Level) else s, dtype=float) for s in (left, right))
    if not (np.isfinite(small).all() and np.isfinite(large).all()):
        yield float("inf"), 1.0, ()
        return
    over = np.abs(small - large) if relation.op == "==" else small - large
    size = np.maximum(np.maximum(np.abs(small), np.abs(large)), 1e-300)
    if constraint.family is None or not over.ndim:
        at = np.unravel_index(int(np.argmax(over)), over.shape)
        yield float(over[at]), float(size.max()), tuple(int(i) for i in at)
        return
    # Not everywhere: the largest, and the largest next to its sides.
    for orbit in {int(np.argmax(over)), int(np.argmax(over / size))}:
        yield float(over[orbit]), float(size[orbit]), (orbit,)


def _off_order(large: Any, small: Any) -> tuple[float, float, tuple[int, ...]]:
    """``large >> small`` of two matrices that split, or of one and the number 0; the size is of the parts."""
    split = large if isinstance(large, Split) else small
    if not isinstance(split, Split) or not all(isinstance(v, Split) or v == 0 for v in (large, small)):
        raise ProgramError("'>>' by components compares two matrices that split, or one with 0")
    gap = large if not isinstance(small, Split) else structured.apply(PLAIN, "neg", (small,), {})
    if isinstance(large, Split) and isinstance(small, Split):
        gap = structured.apply(PLAIN, "sub", (large, small), {})
    parts = [part for v in (large, small) if isinstance(v, Split) for part in v.parts]
    sizes = [float(np.abs(part).max(initial=0.0)) for part in parts]
    if not np.isfinite(sizes).all():
        return float("inf"), 1.0, ()
    return -lowest_eigenvalue(gap), max(1e-300, *sizes), ()


def lowest_eigenvalue(split: Split) -> float:
    """The least eigenvalue of the symmetric part, on the kept components; 0 where all are positive."""
    return min(0.0, *(_lowest(numpy_forms.symmetric_part(part)) for part in split.parts))


def _lowest(part: Any) -> float:
    if len(part) > 1 and numpy_forms.is_definite(part):
        return 0.0
    return float(numpy_forms.eigh(part)[0][0])


def floored(split: Split) -> Split:
    """The symmetric part with every eigenvalue at least ``numeric.FLOOR`` times the largest of all."""
    parts = tuple(numpy_forms.symmetric_part(part) for part in split.parts)
    # The trace is at least the largest eigenvalue where the rest is not negative: none to lift.
    most = numpy_forms.FLOOR * max(float(np.trace(part)) for part in parts)
    if not all(numpy_forms.is_definite(part, most) for part in parts):
        largest = max(0.0, *(float(numpy_forms.eigh(part)[0][-1]) for part in parts))
        parts = tuple(numpy_forms.psd_floor(part, largest) for part in parts)
    return Split(split.rows, split.columns, parts)
