"""The violation of a constraint at a point: by how much it is missed, where, and in which units.

The unit is the size of the terms of a line: for each entry the sum of the absolute values of its terms. An
entry is a sum of numbers, of chosen entries times numbers, and of atoms of these; an atom is one term, and so
is a product of what is chosen, or around an inverse. The sizes are an expression of the language, evaluated
like any other. Where like terms may cancel (a name occurs twice, or sums are summed) they are joined: the
factor of a term is then a derivative.

A point is also refused where an atom has no finite value, even if the line does not use that entry: the
domain of an atom is part of the program, for each of its entries. Solvers, and the bounds that are derived
from the lines, take it so; but numpy gives a number for ``sqrt(x)[0]`` even where ``x[1]`` is negative.
"""

import math
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mmopt.errors import ProgramError
from mmopt.language.evaluate.evaluate_and_differentiate import (
    PARTIAL,
    Env,
    Memo,
    Tape,
    entry_indices,
    evaluate,
    evaluate_ball,
    positions,
)
from mmopt.language.evaluate.number_systems import BALLS, PLAIN, ByComponent, Numbers, splits
from mmopt.language.syntax.exact_rewriting import index_free_parts, vectorised
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
    Relation,
    chain,
    children,
    is_rank,
    names_in,
    rewrite,
    walk,
)
from mmopt.numerics import (
    GROW,
    Array,
    Ball,
    Level,
    Split,
    Unlisted,
    absolute_sum,
    arrays_of,
    float_functions,
    has_full_rank,
    is_semidefinite,
    is_structured,
)

PRODUCTS = frozenset({"mul", "matmul", "div"})
SUMS = frozenset({"sum", "trace", "matmul"})
# Linear in each argument: the terms are inside.
LINEAR = SUMS | PRODUCTS | {"add", "sub", "neg", "transpose", "diag", "toeplitz"}


def sizes_of_terms(
    expr: Expr, env: Env, chosen: frozenset[str], at: Array, memo: Memo | None = None
) -> Array:
    """The sizes of entries of dense numbers, where ``at`` is not 0; ``chosen``: the variables' names."""
    leaves = list(_leaves(expr, chosen))
    distinct = dict.fromkeys(leaves)
    if len(distinct) == len(leaves) and _sums(expr, chosen) < 2:
        rest = rewrite(expr, lambda e: applied("mul", Number(0.0, e.span), e) if e in distinct else None)
        sizes = evaluate(_absolute(expr, chosen), env, memo) + np.abs(evaluate(rest, env, memo))
        return np.broadcast_to(sizes, np.shape(at))
    sizes_at = np.zeros(np.shape(at))
    for entry, terms in _terms_of_entries(expr, env, distinct, at, memo):
        sizes_at[entry] = sum(float(np.abs(term).sum()) for term in terms)
    return sizes_at


def sum_of_like_terms(
    expr: Expr, env: Env, chosen: frozenset[str], at: Array, memo: Memo | None = None
) -> Array | None:
    """The values of entries where ``at`` is not 0, like terms joined; None where no term occurs twice."""
    leaves = list(_leaves(expr, chosen))
    distinct = dict.fromkeys(leaves)
    if len(distinct) == len(leaves):
        return None
    sums = np.zeros(np.shape(at))
    for entry, terms in _terms_of_entries(expr, env, distinct, at, memo):
        sums[entry] = sum(float(term.sum()) for term in terms)
    return sums


def _terms_of_entries(
    expr: Expr, env: Env, leaves: Mapping[Expr, None], at: Array, memo: Memo | None
) -> Iterator[tuple[tuple[int, ...], list[Array]]]:
    """For each entry where ``at`` is not 0: the numbers added, and each of the terms times its factor."""
    names = {leaf: Name(f"term {number}", leaf.span) for number, leaf in enumerate(leaves)}
    values = {name.id: np.asarray(evaluate(leaf, env, memo), dtype=float) for leaf, name in names.items()}
    tape = Tape(rewrite(expr, names.get), {**env, **values}, list(values))
    _, pull = tape.run(values)
    # What is left with zeros in place of the terms: the numbers that are added.
    rest = np.broadcast_to(tape.run({n: np.zeros(v.shape) for n, v in values.items()})[0], np.shape(at))
    for entry in map(tuple, np.argwhere(at)):
        bar = np.zeros(rest.shape)
        bar[entry if rest.shape else ()] = 1.0
        with np.errstate(over="ignore", invalid="ignore"):
            yield entry, [rest[entry], *(d * values[n] for n, d in pull(bar).items())]


def has_atoms(expr: Expr, chosen: frozenset[str]) -> bool:
    """Whether a term is an atom, or a product of what is chosen: its arguments are rounded first."""
    return any(isinstance(leaf, Apply) for leaf in _leaves(expr, chosen))


def applied(atom: str, *args: Expr) -> Expr:
    """The atom applied to expressions, as an expression."""
    return Apply(atom, args, args[0].span)


def _is_term(e: Expr, chosen: frozenset[str]) -> bool:
    """Whether something chosen is one term: a name, an atom, a product of several, or around an inverse."""
    match e:
        case Apply(atom="mul" | "div" as atom, args=(a, b)):
            return bool(names_in(b) & chosen) and (atom == "div" or bool(names_in(a) & chosen))
        case Apply(atom=atom, args=args) if atom in LINEAR:
            factors = chain(args[0] if atom in ("diag", "trace") else e)
            unknown = [f for f in factors if names_in(f) & chosen]
            is_inverse = isinstance(unknown[0], Apply) and unknown[0].atom == "inv"
            return len(factors) > 1 and (is_inverse or len(unknown) > 1)
        case Entries(body=body):
            return not all(isinstance(leaf, Name) for leaf in _leaves(body, chosen))
    return not isinstance(e, Index | Block)


def _leaves(e: Expr, chosen: frozenset[str]) -> Iterator[Expr]:
    """The terms, without their factors."""
    if not names_in(e) & chosen:
        return
    if _is_term(e, chosen):
        yield e
        return
    for child in children(e):
        yield from _leaves(child, chosen)


def _sums(e: Expr, chosen: frozenset[str]) -> int:
    """The number of sums inside each other, on the way to a term; ``A @ X @ B`` is one sum."""
    if not names_in(e) & chosen or _is_term(e, chosen):
        return 0
    factors = chain(e) if isinstance(e, Apply) and e.atom == "matmul" else children(e)
    return int(isinstance(e, Apply) and e.atom in SUMS) + max(_sums(f, chosen) for f in factors)


def _absolute(expr: Expr, chosen: frozenset[str]) -> Expr:
    """The sum of the sizes of the terms, without the numbers that are added."""

    def change(e: Expr) -> Expr | None:
        if not names_in(e) & chosen:
            return applied("mul", Number(0.0, e.span), e)
        if _is_term(e, chosen):
            return applied("abs", e)
        match e:
            case Apply(atom="neg" | "sub" as atom, args=args):
                inner = [rewrite(a, change) for a in args]
                return inner[0] if atom == "neg" else applied("add", *inner)
            case Apply(atom=atom, args=args) if atom in PRODUCTS:
                by = [rewrite(a, change) if names_in(a) & chosen else applied("abs", a) for a in args]
                return applied(atom, *by)
            case Index(base=base):
                return replace(e, base=rewrite(base, change))
            case Entries(body=body):
                return replace(e, body=rewrite(body, change))
        return None

    return rewrite(expr, change)


# An atom in a line, and the entry of its value; the entry of a part where values split.
Undefined = tuple[Apply, tuple[int, ...]]


def undefined(expr: Expr, env: Env, chosen: Set[str]) -> Undefined | None:
    """The first atom of variables with a value that is not finite; atoms of data may have such values."""
    if not any(_may_be_undefined(part, chosen) for part in walk(expr)):
        return None
    seen: list[Undefined] = []

    def look(part: Apply, value: Any) -> None:
        if not seen and _may_be_undefined(part, chosen):
            for array in arrays_of(value):
                seen.extend((part, tuple(int(i) for i in at)) for at in np.argwhere(~np.isfinite(array))[:1])

    evaluate(expr, env, look=look)
    return seen[0] if seen else None


def _may_be_undefined(part: Any, chosen: Set[str]) -> bool:
    """Whether a part is an atom of what is chosen that has no value at some numbers."""
    return isinstance(part, Apply) and part.atom in PARTIAL and bool(names_in(part) & chosen)


def undefined_in(constraint: Constraint, env: Env, chosen: Set[str]) -> Undefined | None:
    """``undefined`` for the sides of a constraint, and in a family for every index."""
    return next((atom for side, at in _sides(constraint, env) if (atom := undefined(side, at, chosen))), None)


def _sides(constraint: Constraint, env: Env) -> Iterator[tuple[Expr, Env]]:
    """Both sides, those of a family as vectors where they have such a form, else for every index."""
    family = constraint.family
    for side in (constraint.relation.left, constraint.relation.right):
        joined = side if family is None else vectorised(side, family.index)
        if joined is not None:
            yield joined, env
        elif family is not None:
            for index in range(family.dim.value(env)):
                yield side, {**env, family.index: index}


# The least size that violations are compared with.
LEAST_SIZE = 1e-300
# Sides that add up to less may come from numbers that were too small for a float.
SMALL_SIDE = 1e-290
# Part of the sides from which rounding of the arguments of atoms counts.
ROUNDING_COUNTS = 1e-12


@dataclass(frozen=True)
class Miss:
    """The violation of one relation, entry by entry; of a family that is taken together, by its indices.

    amounts : 0 where it holds, in the units of the sides. Of matrices one number, the part of ``sizes`` that,
        added to the diagonal, makes the difference psd.
    sizes : of the terms of an entry; of matrices those of the diagonal.
    index : of one relation of a family.
    """

    amounts: Array
    sizes: Array
    index: tuple[int, ...] = ()

    @property
    def is_matrix(self) -> bool:
        return self.amounts.ndim == 0 < self.sizes.ndim

    @property
    def worst(self) -> tuple[float, tuple[int, ...]]:
        """The part by which terms have to change for the relation to hold, where that is most."""
        with np.errstate(divide="ignore", invalid="ignore"):
            most = np.finfo(float).max
            parts = self.amounts if self.is_matrix else self.amounts / np.minimum(self.sizes, most)
        parts = np.where(self.amounts > 0, parts, 0.0)
        at = np.unravel_index(int(np.argmax(parts)), parts.shape)
        return float(parts[at]), (*self.index, *map(int, at))


def violation(constraint: Constraint, env: Env, chosen: frozenset[str] = frozenset()) -> float:
    """The violation of a constraint: 0 when it holds. See ``misses``."""
    return worst(constraint, env, chosen)[0]


def worst(
    constraint: Constraint, env: Env, chosen: frozenset[str] = frozenset(), memo: Memo | None = None
) -> tuple[float, tuple[int, ...]]:
    """The largest violation and its place: the index of the family, then the entry.

    Numbers and psd relations have no entry.
    """
    each = (miss.worst for miss in misses(constraint, env, chosen, memo) if miss.amounts.size)
    return max(each, key=lambda pair: pair[0], default=(0.0, ()))


def charge(
    constraint: Constraint,
    env: Env,
    chosen: frozenset[str],
    multiplier: Any,
    memo: Memo | None = None,
    *,
    rounded: bool = False,
) -> float:
    """The largest gain of an objective from a violated constraint: each violation times its multiplier.

    ``rounded`` : the rounding of the evaluation counts as violation too.
    """
    worth = 0.0
    for miss in misses(constraint, env, chosen, memo, rounded=rounded):
        one = miss.sizes.shape * (1 + miss.is_matrix)  # the shape of the multiplier of one relation
        count, rest = divmod(0 if is_structured(multiplier) else np.size(multiplier), math.prod(one) or 1)
        if rest or count <= sum(miss.index):  # it is of orbits, or of another line
            most = miss.sizes if miss.is_matrix else np.ones(1)
            worth += absolute_sum(multiplier) * float(miss.amounts.max(initial=0.0) * most.max())
            continue
        y = np.abs(multiplier).reshape(-1, *one)[miss.index or (0,)]
        worth += float(((np.diagonal(y) * miss.sizes if miss.is_matrix else y) * miss.amounts).sum())
    return worth


def excess_with_errors(constraint: Constraint, env: Env) -> float:
    """A bound on the violation of a constraint, relative to its sides, entry by entry, with rounding errors.

    0: the constraint is proved to hold. Infinity: nothing is proved, for example for a rank, or for sides
    that are equal up to rounding. A psd block is proved by the Schur complement of a corner that is proved
    to be definite.
    """
    family, op = constraint.family, constraint.relation.op
    if is_rank(constraint):
        return float("inf")
    index, count = (family.index, family.dim.value(env)) if family else ("", 1)
    most = 0.0
    for sides in _ordered(constraint, {**env, index: 0} if family else env) if count else ():
        relation = Relation(sides[0], op, sides[1], constraint.span)
        whole = together_at(replace(constraint, relation=relation), env) if family else (relation, ())
        if whole is not None:
            most = max(most, _over_with_errors(whole[0].left, whole[0].right, env, op))
            continue
        for i in range(count):
            most = max(most, _over_with_errors(*sides, {**env, index: i}, op))
    return float("inf") if most > 0 and op == "==" else most


def _ordered(constraint: Constraint, env: Env) -> list[tuple[Expr, Expr]]:
    """Pairs whose first side has to be at most the second; ``env`` has an index, for the shapes."""
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
        return [(small, a), (applied("div", applied("mul", b, c), a), d)]
    return [(applied("matmul", applied("matmul", c, applied("inv", a)), b), d)]


def _over_with_errors(less: Expr, more: Expr, env: Env, op: str) -> float:
    """The excess of ``less`` over ``more``, relative to each entry; for matrices 0, or infinity."""
    both = [evaluate_ball(side, env) for side in (less, more)]
    if op in (">>", "<<") and 2 in (len(np.shape(value)) for value in both):
        return 0.0 if all(map(is_semidefinite, _parts(_surplus(BALLS, both[1], both[0])))) else float("inf")
    (small,), (large,) = map(_parts, both)
    with np.errstate(invalid="ignore"):  # inf - inf
        low = np.where(large.rad > 0, large.lower, large.mid)
        over = np.where(small.rad > 0, small.upper, small.mid) - low
    over = np.nan_to_num(over, nan=np.inf, posinf=np.inf) * GROW
    sizes = np.maximum(np.maximum(np.abs(small.mid), np.abs(large.mid)), LEAST_SIZE)
    return float(np.max(np.maximum(over, 0.0) / sizes, initial=0.0))


def misses(
    constraint: Constraint,
    env: Env,
    chosen: frozenset[str] = frozenset(),
    memo: Memo | None = None,
    *,
    rounded: bool = False,
) -> Iterator[Miss]:
    """The misses of a line: one for each relation of a family, or for all of them; one without a family.

    A line is missed by the part by which each of its terms has to change for it to hold
    (``sizes_of_terms``); of matrices, by which the terms of the diagonal have to. So the miss depends neither
    on units nor on the other entries. Without ``chosen``, for example for requirements on givens, it is
    relative to the largest entry; a rank is missed by the first singular value beyond it, relatively.

    With values that split, each orbit of a family is counted alone, like each index of dense values.
    ``rounded``: misses of numbers include the error of evaluation; else only where it may count.
    """
    family, relation = constraint.family, constraint.relation
    if family is None:
        yield _miss(relation, env, chosen, memo, rounded)
        return
    if (sides := together_at(constraint, env, memo, chosen)) is None:
        for index in range(family.dim.value(env)):
            yield replace(
                _miss(relation, {**env, family.index: index}, chosen, None, rounded), index=(index,)
            )
        return
    yield _entries(*sides, env, chosen, memo, rounded)


def _entries(
    relation: Relation,
    sides: Sequence[Array],
    env: Env,
    chosen: frozenset[str],
    memo: Memo | None,
    rounded: bool,
) -> Miss:
    """The miss of a relation between numbers, entry by entry; ``sides`` are their values."""
    left, right = np.broadcast_arrays(*sides)
    is_finite = np.isfinite(left) & np.isfinite(right)
    over, sizes = _over(relation.op, left, right), np.where(is_finite, np.abs(left) + np.abs(right), 1.0)
    # Large like terms cancel, and lose the digits of what is left: x >= x + 1.
    lost = is_finite & (np.abs(over) <= ROUNDING_COUNTS * sizes)
    if chosen and not splits(env) and lost.any():
        joined = sum_of_like_terms(_difference(relation), env, chosen, lost, memo)
        over = over if joined is None else np.where(lost, _over(relation.op, joined, np.zeros(())), over)
    if chosen and not splits(env) and (rounded or has_atoms(_difference(relation), chosen)):
        rad = evaluate_ball(_difference(relation), env).rad
        least = 0.0 if rounded else ROUNDING_COUNTS * sizes + SMALL_SIDE
        over = over + np.where(np.isfinite(rad) & (rad > least), rad, 0.0)
    amounts = np.where(is_finite, np.maximum(over, 0.0), np.inf)
    small = sizes < SMALL_SIDE
    if chosen and small.any() and _underflows(relation, env):
        # A side that is 0 only as a float misses 0 by its whole size.
        return Miss(np.where(small, 1.0, amounts), np.where(small, 1.0, sizes))
    if not is_finite.all() or not amounts.any():
        return Miss(amounts, sizes)
    # A requirement on givens is compared with its sides, unless these are zero.
    if not chosen and left.any() and right.any():
        return Miss(amounts, np.maximum(np.abs(left), np.abs(right)))
    if not splits(env):
        difference = _difference(relation)
        sizes = sizes_of_terms(difference, env, chosen or frozenset(names_in(difference)), amounts, memo)
    return Miss(amounts, sizes)


def _underflows(relation: Relation, env: Env) -> bool:
    """Whether a number on the way to the difference is too small for a float."""
    try:
        with np.errstate(under="raise"):
            evaluate(_difference(relation), env)
    except FloatingPointError:
        return True
    return False


def _difference(relation: Relation) -> Expr:
    return applied("sub", relation.left, relation.right)


def together_at(
    constraint: Constraint, env: Env, memo: Memo | None = None, chosen: frozenset[str] = frozenset()
) -> tuple[Relation, Sequence[Array]] | None:
    """All indices of a family, or orbits, as one relation, with the values of its sides.

    None where a side is not one number for each. For indices that are not listed, the largest entry alone.
    """
    family = constraint.family
    assert family is not None
    values, whole, memo = [], [], memo or Memo()
    for side in (constraint.relation.left, constraint.relation.right):
        joined = _all_at_once(side, family, env, memo)
        if joined is None and splits(env):
            raise ProgramError(
                f"the family '{constraint.name}' has no form by components",
                hint="solve the program without the symmetry",
            )
        # An atom of what has the index is one term of a line, and so would be the whole entry.
        is_term = isinstance(joined, Entries) and _is_term(joined, chosen or frozenset(names_in(side)))
        if joined is None or is_term:
            return None
        whole.append(joined)
        values.append(evaluate(joined, env, memo))
    levels = [
        1 if isinstance(v, Unlisted) else len(v.values) for v in values if isinstance(v, Level | Unlisted)
    ]
    count = levels[0] if levels else family.dim.value(env)
    (left,), (right,) = map(_parts, values)
    if not {left.shape, right.shape} <= {(), (count,)}:
        return None
    relation = replace(constraint.relation, left=whole[0], right=whole[1])
    return relation, (np.broadcast_to(left, (count,)), np.broadcast_to(right, (count,)))


def _all_at_once(side: Expr, family: Family, env: Env, memo: Memo) -> Expr | None:
    """A side of a family as one expression with an entry for each index; None where a side is no number."""
    joined = vectorised(side, family.index)
    if joined is not None and any(
        np.ndim(evaluate(e, env, memo)) for e in index_free_parts(side, family.index)
    ):
        return None
    if splits(env):
        return joined
    count = family.dim.value(env)
    with suppress(ValueError):  # vectors of different lengths, where the range is shorter
        if joined is not None and np.shape(evaluate(joined, env, memo)) in ((), (count,)):
            return joined
    is_number = count and not np.ndim(evaluate(side, {**env, family.index: 0}))
    return Entries(side, (family,), (), side.span) if is_number else None


def _over(op: str, left: Array, right: Array) -> Array:
    """By how much each entry is beyond what the relation allows; negative where there is room."""
    with np.errstate(invalid="ignore"):  # inf - inf, which the callers leave out
        over = left - right if op == "<=" else right - left
    return np.abs(over) if op == "==" else over


def _miss(relation: Relation, env: Env, chosen: frozenset[str], memo: Memo | None, rounded: bool) -> Miss:
    """The miss of one relation, or of one of a family."""
    one = np.ones(())
    if isinstance(relation.left, Apply) and relation.left.atom == "rank":
        matrix = np.asarray(evaluate(relation.left.args[0], env, memo), dtype=float)
        rank = int(evaluate(relation.right, env, memo))
        return Miss(np.asarray(rank_residual(matrix, rank) if np.isfinite(matrix).all() else np.inf), one)
    values = [evaluate(side, env, memo) for side in (relation.left, relation.right)]
    arrays = [part for value in values for part in _parts(value)]
    if relation.op in ("<<", ">>"):
        if not all(np.isfinite(part).all() for part in arrays):
            return Miss(np.asarray(np.inf), one)
        large, small = values if relation.op == ">>" else reversed(values)
        parts = _parts(_surplus(PLAIN, large, small))
        if all(float_functions.is_definite(float_functions.symmetric_part(part)) for part in parts):
            return Miss(np.zeros(()), one)
        if not chosen:
            size = max(LEAST_SIZE, *(float(np.abs(part).max(initial=0.0)) for part in arrays))
            return Miss(np.asarray(-float_functions.lowest_eigenvalue(parts)), size * one)
        sizes = [np.abs(np.diagonal(part)) for part in parts]
        if not splits(env):
            at = np.eye(len(parts[0]))
            sizes = [np.diagonal(sizes_of_terms(_difference(relation), env, chosen, at, memo))]
        return Miss(np.asarray(psd_deficit(parts, sizes)), sizes[0])
    if any(isinstance(value, Split) for value in values):
        raise ProgramError(f"'{relation.op}' between matrices has no form by components", hint="use << or >>")
    miss = _entries(relation, arrays, env, chosen, memo, rounded)
    if not chosen:
        miss = replace(miss, sizes=np.full(miss.sizes.shape, miss.sizes.max(initial=LEAST_SIZE)))
    return miss


def psd_deficit(parts: Sequence[Array], sizes: Sequence[Array]) -> float:
    """The smallest share of its sizes that makes each matrix psd when added to the diagonal.

    If a size is 0, nothing can be added: the row has to be 0, or no share is large enough.
    """
    if any(part[size == 0.0].any() for part, size in zip(parts, sizes, strict=True)):
        return float(np.finfo(float).max)
    scales = [1.0 / np.sqrt(np.where(size > 0.0, size, 1.0)) for size in sizes]
    return -float_functions.lowest_eigenvalue(
        [scale[:, None] * part * scale for scale, part in zip(scales, parts, strict=True)]
    )


# A solver's entry that is to be zero, relative to the largest one.
NEARLY_ZERO = 1e-6


def sizes_to_compare(sizes: Mapping[str, float]) -> dict[str, float]:
    """The size of each variable; for one that is nearly zero the largest of all, or 1 if all are."""
    most = max((size for size in sizes.values() if size > NEARLY_ZERO), default=1.0)
    return {name: size if size > NEARLY_ZERO * most else most for name, size in sizes.items()}


def cleared(constraints: Sequence[Constraint], values: Mapping[str, Any], env: Env) -> dict[str, Any]:
    """The values, where entries that a constraint sets to zero (``X[i, j] == 0``) are zero if nearly zero."""
    cleared_values = dict(values)
    for c in constraints:
        left, right = c.relation.left, c.relation.right
        if c.relation.op != "==" or c.family is not None:
            continue
        if isinstance(left, Entries) and isinstance(right, Entries):
            at = entry_indices(left, env)
            left, right, indices = left.body, right.body, at.indices
        else:
            indices = {}
        if not (isinstance(left, Index) and isinstance(left.base, Name) and None not in left.items):
            continue
        value = cleared_values.get(left.base.id)
        if not isinstance(value, np.ndarray) or right != Number(0.0, left.span):
            continue
        places = positions(left, value.shape, {**env, **indices})
        if np.abs(value[places]).max(initial=0.0) <= NEARLY_ZERO * np.abs(value).max(initial=0.0):
            value = value.copy()
            value[places] = 0.0
            cleared_values[left.base.id] = value
    return cleared_values


def _surplus(numbers: Numbers, large: Any, small: Any) -> Any:
    """``large - small`` of two matrices, or of one and the number 0."""
    algebra = ByComponent(numbers)
    if not np.shape(small):
        return large
    return algebra.call("sub", large, small) if np.shape(large) else algebra.call("neg", small)


def _parts(value: Any) -> tuple[Any, ...]:
    """The matrices that a matrix splits into; a vector by its levels."""
    return tuple(v if isinstance(v, Ball) else np.asarray(v, dtype=float) for v in arrays_of(value))


def rank_residual(matrix: Array, rank: int) -> float:
    """The first singular value beyond the rank, relative to the largest; 1 when the rank is not reached."""
    if rank == min(matrix.shape) and has_full_rank(matrix):
        return 0.0
    values = np.linalg.svd(matrix, compute_uv=False)
    if not len(values) or not values[0] > 0:
        return 0.0 if rank == 0 else 1.0
    if rank > len(values) or (rank and values[rank - 1] <= 1e-12 * values[0]):
        return 1.0
    return float(values[rank] / values[0]) if rank < len(values) else 0.0
