"""By how much a point misses a constraint, where, and in which units."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.check.exact_rewriting import shared, vectorised
from mmopt.language.check.relation_checks import rank_residual
from mmopt.language.evaluate.evaluator import Env, Memo, evaluate, evaluate_ball, points, positions
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, Numbers
from mmopt.language.evaluate.split_values import ByComponent, splits
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Block,
    Constraint,
    Entries,
    Expr,
    Family,
    Index,
    Name,
    Number,
    children,
    is_rank,
)
from mmopt.numerics import matrix_functions
from mmopt.numerics.ball_functions import is_semidefinite
from mmopt.numerics.balls import GROW, Ball
from mmopt.numerics.matrix_functions import Array
from mmopt.numerics.split_arrays import Level, Split, Unlisted, arrays_of

__all__ = ["cleared", "excess", "excess_with_errors", "violation", "worst"]

# What is compared with nothing larger than this is compared with this.
LEAST_SIZE = 1e-300
SMALLEST = float(np.finfo(float).smallest_subnormal)

# The largest violation (negative: to spare), the size of the sides, and where.
Off = tuple[float, float, tuple[int, ...]]


def violation(constraint: Constraint, env: Env) -> float:
    """By how much a constraint is violated, relative to the size of its sides; 0 when it holds.

    For ``>>`` it is the most negative eigenvalue of the difference, for a rank the first singular value
    beyond it.
    """
    return max(worst(constraint, env)[0], 0.0)


def worst(constraint: Constraint, env: Env, memo: Memo | None = None) -> tuple[float, tuple[int, ...]]:
    """The violation where it is largest, and where: the index of the family, then the entry.

    A negative violation is what is to spare; a matrix inequality that holds has nothing to spare. Scalar
    and psd relations have no entry.
    """
    found: tuple[float, tuple[int, ...]] = (-np.inf, ())
    for amount, size, entry in _all(constraint, env, memo):
        found = max(found, (amount / size, entry), key=lambda pair: pair[0])
    return found


def excess(constraint: Constraint, env: Env, memo: Memo | None = None) -> float:
    """By how much a constraint is violated where that is most, in the units of its sides; 0 when it holds."""
    return max(0.0, *(amount for amount, _, _ in _all(constraint, env, memo)))


def excess_with_errors(constraint: Constraint, env: Env) -> float:
    """By how much a line may be missed, relative to the size of its sides, errors of evaluation included.

    0: it is proved to hold. Infinity: nothing is proved, as of a rank, or of sides that are equal but for
    rounding. A psd block is proved by the Schur complement of a corner that is proved to be definite.
    """
    family, op = constraint.family, constraint.relation.op
    if is_rank(constraint):
        return float("inf")
    index, count = (family.index, family.dim.value(env)) if family else ("", 1)
    most = 0.0
    for sides in _ordered(constraint, {**env, index: 0} if family else env) if count else ():
        joined = [vectorised(side, index) for side in sides] if family else sides
        whole = [side for side in joined if side is not None]
        if len(whole) == 2 and (family is None or _are_as_long(whole, count, env)):
            most = max(most, _over_with_errors(whole[0], whole[1], env, op, family is not None))
            continue
        for i in range(count):
            most = max(most, _over_with_errors(*sides, {**env, index: i}, op, True))
    return float("inf") if most > 0 and op == "==" else most


def _are_as_long(sides: Sequence[Expr], count: int, env: Env) -> bool:
    """Whether sides of all indices at once have one entry for each: the range may be shorter."""
    try:
        values = [evaluate(side, env) for side in sides]
    except ValueError:  # vectors of different lengths
        return False
    return splits(env) or all(np.shape(value) in ((), (count,)) for value in values)


def _ordered(constraint: Constraint, env: Env) -> list[tuple[Expr, Expr]]:
    """Pairs of which the first is to be at most the second; ``env`` has an index, for the shapes."""
    left, op, right = constraint.relation.left, constraint.relation.op, constraint.relation.right
    small, large = (right, left) if op in (">=", ">>") else (left, right)
    if op == "==":
        return [(left, right), (right, left)]
    is_zero = op in ("<<", ">>") and isinstance(small, Number) and small.value == 0.0
    if not (isinstance(large, Block) and [len(row) for row in large.rows] == [2, 2] and is_zero):
        return [(small, large)]
    (a, b), (c, d) = large.rows
    if np.ndim(evaluate(d, env)) == 2:
        (a, b), (c, d) = (d, c), (b, a)
    if np.ndim(evaluate(a, env)) < 2:
        return [(small, a), (_apply("div", _apply("mul", b, c), a), d)]
    return [(_apply("matmul", _apply("matmul", c, _apply("inv", a)), b), d)]


def _apply(atom: str, *args: Expr) -> Expr:
    return Apply(atom, args, args[0].span)


def _over_with_errors(less: Expr, more: Expr, env: Env, op: str, each: bool) -> float:
    """``each``: relative to each entry, not to the largest. Matrices in their order: 0, or infinity."""
    both = [evaluate_ball(side, env) for side in (less, more)]
    if op in (">>", "<<") and 2 in (len(np.shape(value)) for value in both):
        gap = _gap(BALLS, both[1], both[0])
        return 0.0 if all(map(is_semidefinite, _parts(gap))) else float("inf")
    (small,), (large,) = map(_parts, both)
    with np.errstate(invalid="ignore"):  # inf - inf
        low = np.where(large.rad > 0, large.lower, large.mid)
        over = np.where(small.rad > 0, small.upper, small.mid) - low
    over = np.nan_to_num(over, nan=np.inf, posinf=np.inf) * GROW
    sizes = np.maximum(np.maximum(np.abs(small.mid), np.abs(large.mid)), LEAST_SIZE)
    found = over / (sizes if each else sizes.max(initial=LEAST_SIZE))
    found = np.where(over > 0, np.maximum(found, SMALLEST), 0.0)  # next to what is large it may be no float
    return float(np.max(found, initial=0.0))


def _all(constraint: Constraint, env: Env, memo: Memo | None) -> Iterator[Off]:
    """One for each relation of a family, with its index in front of the entry; one without a family.

    With values that split each orbit of a family counts by itself, as each index does densely.
    """
    family = constraint.family
    if family is None:
        yield _off(constraint, env, memo)
        return
    sides = _together(constraint, family, env, memo)
    if sides is None:
        for index in range(family.dim.value(env)):
            amount, size, entry = _off(constraint, {**env, family.index: index}, None)
            yield amount, size, (index, *entry)
        return
    left, right = sides
    known = np.isfinite(left) & np.isfinite(right)
    overs = np.where(known, _over(constraint, left, right), np.inf)
    sizes = np.where(known, np.maximum(np.maximum(np.abs(left), np.abs(right)), LEAST_SIZE), 1.0)
    if not (left.any() and right.any()):
        sizes = np.maximum(sizes, _magnitude_of(constraint, env))
    # Not everywhere: the largest, and the largest next to its sides.
    for at in {int(np.argmax(overs)), int(np.argmax(overs / sizes))}:
        yield float(overs[at]), float(sizes[at]), (at,)


def _together(
    constraint: Constraint, family: Family, env: Env, memo: Memo | None
) -> tuple[Array, Array] | None:
    """Both sides for all indices, or orbits, at once; None where they are not one number for each.

    Of indices that are not listed the largest entry alone.
    """
    values = []
    for side in (constraint.relation.left, constraint.relation.right):
        joined = vectorised(side, family.index)
        if joined is None and splits(env):
            raise ProgramError(
                f"the family '{constraint.name}' has no form by components",
                hint="solve the program without the symmetry",
            )
        if joined is None or any(np.ndim(evaluate(e, env, memo)) for e in shared(side, family.index)):
            return None
        values.append(evaluate(joined, env, memo))
    levels = [
        1 if isinstance(v, Unlisted) else len(v.values) for v in values if isinstance(v, Level | Unlisted)
    ]
    count = levels[0] if levels else family.dim.value(env)
    (left,), (right,) = map(_parts, values)
    if not {left.shape, right.shape} <= {(), (count,)}:
        return None
    return np.broadcast_to(left, (count,)), np.broadcast_to(right, (count,))


def _over(constraint: Constraint, left: Array, right: Array) -> Array:
    """By how much each entry is violated."""
    with np.errstate(invalid="ignore"):  # inf - inf, which the callers leave out
        over = left - right if constraint.relation.op == "<=" else right - left
    return np.abs(over) if constraint.relation.op == "==" else over


def _off(constraint: Constraint, env: Env, memo: Memo | None) -> Off:
    """One relation, or one of a family."""
    relation = constraint.relation
    if is_rank(constraint):
        assert isinstance(relation.left, Apply)
        matrix = np.asarray(evaluate(relation.left.args[0], env, memo), dtype=float)
        rank = int(evaluate(relation.right, env, memo))
        return (rank_residual(matrix, rank) if np.isfinite(matrix).all() else float("inf")), 1.0, ()
    values = [evaluate(side, env, memo) for side in (relation.left, relation.right)]
    arrays = [part for value in values for part in _parts(value)]
    if not all(np.isfinite(part).all() for part in arrays):
        return float("inf"), 1.0, ()
    scale = max(LEAST_SIZE, *(float(np.abs(part).max(initial=0.0)) for part in arrays))
    if relation.op in ("==", "<=", ">=") and not all(np.any(part) for part in arrays):
        scale = max(scale, _magnitude_of(constraint, env))
    if relation.op in ("<<", ">>"):
        large, small = values if relation.op == ">>" else reversed(values)
        return -matrix_functions.lowest_eigenvalue(_parts(_gap(PLAIN, large, small))), scale, ()
    if any(isinstance(value, Split) for value in values):
        raise ProgramError(f"'{relation.op}' between matrices has no form by components", hint="use << or >>")
    over = _over(constraint, *arrays)
    if over.size == 0:
        return 0.0, scale, ()
    at = np.unravel_index(int(np.argmax(over)), over.shape)
    return float(over[at]), scale, tuple(int(i) for i in at)


def _magnitude_of(constraint: Constraint, env: Env) -> float:
    """The size of what is compared with zero: of what it is made of, as its own size says nothing."""
    return max(_magnitude(side, env) for side in (constraint.relation.left, constraint.relation.right))


def _magnitude(expr: Expr, env: Env) -> float:
    """The largest absolute value of an entry that an expression is made of, products multiplied out."""
    match expr:
        case Number(value=value):
            return abs(value)
        case Name(id=name):
            parts = _parts(env[name]) if name in env else ()  # an index is no size
            return max((float(np.abs(part).max(initial=0.0)) for part in parts), default=1.0)
        case Index(base=base):
            return _magnitude(base, env)
        case Entries(body=body):
            return _magnitude(body, env)
        case Apply(atom="pow", args=(base, Number(value=exponent))):
            return float(np.power(max(_magnitude(base, env), LEAST_SIZE), exponent))
        case Apply(atom="mul" | "matmul", args=args):
            return math.prod(_magnitude(a, env) for a in args)
    return max((_magnitude(child, env) for child in children(expr)), default=0.0)


# A solver's entry that is to be zero, relative to the largest one.
NEARLY_ZERO = 1e-6


def cleared(constraints: Sequence[Constraint], values: Mapping[str, Any], env: Env) -> dict[str, Any]:
    """The values; entries that a line says are zero (``X[i, j] == 0``) are set to zero if they nearly are."""
    found = dict(values)
    for c in constraints:
        left, right = c.relation.left, c.relation.right
        if c.relation.op != "==" or c.family is not None:
            continue
        if isinstance(left, Entries) and isinstance(right, Entries):
            at = points(left, env)
            left, right, indices = left.body, right.body, at.indices
        else:
            indices = {}
        if not (isinstance(left, Index) and isinstance(left.base, Name) and None not in left.items):
            continue
        value = found.get(left.base.id)
        if not isinstance(value, np.ndarray) or right != Number(0.0, left.span):
            continue
        places = positions(left, value.shape, {**env, **indices})
        if np.abs(value[places]).max(initial=0.0) <= NEARLY_ZERO * np.abs(value).max(initial=0.0):
            value = value.copy()
            value[places] = 0.0
            found[left.base.id] = value
    return found


def _gap(numbers: Numbers, large: Any, small: Any) -> Any:
    """``large - small`` of two matrices, or of one and the number 0."""
    algebra = ByComponent(numbers)
    if not np.shape(small):
        return large
    return algebra.call("sub", large, small) if np.shape(large) else algebra.call("neg", small)


def _parts(value: Any) -> tuple[Any, ...]:
    """The matrices that a matrix splits into; a vector by its levels."""
    return tuple(v if isinstance(v, Ball) else np.asarray(v, dtype=float) for v in arrays_of(value))
