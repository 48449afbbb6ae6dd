"""How each line of a program is lowered, decided from the tree; the cones that lines become, and their sizes.

The forecast counts these lines and the lowering builds them, so that the predicted problem is the one handed
over. Once the sizes are known, ranges, variables, existing entries and rows of factors are counted.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from mmopt.errors import OptionError, ProgramError
from mmopt.language import (
    ATOMS,
    ENTRYWISE,
    Apply,
    Block,
    Checked,
    Constraint,
    Entries,
    Expr,
    Family,
    Index,
    Name,
    Number,
    Relation,
    Scope,
    Type,
    chain,
    entry_indices,
    evaluate,
    infer,
    is_rank,
    names_in,
    number_of,
    scoped,
    to_source,
    two_by_two,
    typed_parts,
    vectorised,
)


@dataclass(frozen=True)
class Cone:
    """``count`` cones of one kind and size. For ``nonnegative`` and ``zero`` the size is 1.

    origin : the line, or the variable, that becomes them.
    """

    kind: str  # "zero", "nonnegative", "second-order", "psd", "exponential", "power"
    size: int
    count: int
    origin: str


@dataclass(frozen=True)
class Line:
    """One constraint as it is lowered: ``relation`` once, or for each index of its family if ``loop``.

    scope : the names in it. pair : the entries a, b and c of a 2 x 2 psd constraint, a second-order cone;
    None for others.
    """

    constraint: Constraint
    scope: Scope
    relation: Relation
    loop: bool
    pair: tuple[Expr, Expr, Expr] | None = None


@lru_cache(maxsize=1024)
def line(checked: Checked, constraint: Constraint) -> Line:
    """Decide how a constraint is lowered: once for a program, whatever its sizes."""
    relation, family = constraint.relation, constraint.family
    scope = checked.lines.inside(family)
    pair = two_by_two(relation.left) if _is_psd_block(relation) else None
    if pair is None or not all(infer(e, scope).is_scalar for e in pair):
        pair = None
    parts = pair or ((relation.left, relation.right) if relation.op not in (">>", "<<") else ())
    wholes = _together(parts, family, checked.lines) if parts and family else None
    if wholes is None:
        return Line(constraint, scope, relation, family is not None, pair)
    if pair:
        return Line(constraint, scope, relation, False, (wholes[0], wholes[1], wholes[2]))
    return Line(constraint, scope, replace(relation, left=wholes[0], right=wholes[1]), False)


def _together(parts: Sequence[Expr], family: Family, scope: Scope) -> list[Expr] | None:
    """The parts of a family's line as vectors of all indices; None where one has no such form.

    A vector has to be as long as its family: ``x[i] >= 1 for i in n - 2`` leaves out the last two entries.
    """
    wholes: list[Expr] = []
    for part in parts:
        if (whole := vectorised(part, family.index)) is None:
            return None
        if whole is not part:
            try:
                dims = infer(whole, scope).dims
            except ProgramError:  # vectors of different lengths
                return None
            if dims != (family.dim,):
                return None
        wholes.append(whole)
    return wholes


def _is_psd_block(relation: Relation) -> bool:
    """Whether a line is ``[[…], […]] >> 0``."""
    return relation.op == ">>" and isinstance(relation.left, Block) and isinstance(relation.right, Number)


def sides_of_blocks(checked: Checked, sizes: Mapping[str, int], c: Constraint) -> list[int]:
    """The sides of the diagonal blocks of a line ``[[…], […]] >> 0``; none of another line."""
    if not (_is_psd_block(c.relation) and isinstance(c.relation.left, Block)):
        return []
    scope, rows = checked.lines.inside(c.family), c.relation.left.rows
    return [infer(row[i], scope).block_shape[0].value(sizes) for i, row in enumerate(rows)]


def trace_inverse(expr: Expr, scope: Scope) -> tuple[Expr, list[Expr], list[Expr]] | None:
    """For ``trace(L @ inv(F) @ R)`` with constant L, R and F depending on the variables: F, L, R."""
    factors = chain(expr.args[0]) if isinstance(expr, Apply) and expr.atom == "trace" else []
    match [(at, f) for at, f in enumerate(factors) if not infer(f, scope).is_constant]:
        case [(at, Apply(atom="inv", args=(inner,)))]:
            return inner, factors[:at], factors[at + 1 :]
    return None


def curved_nodes(expr: Expr, scope: Scope) -> tuple[list[tuple[Expr, list[Expr], list[Expr]]], list[Apply]]:
    """The traces of inverses (as F, L, R: ``trace_inverse``), and the other inverses and roots of matrices.

    Each needs a block of its own.
    """
    traces: list[tuple[Expr, list[Expr], list[Expr]]] = []
    nodes: list[Apply] = []

    def visit(e: Expr, scope: Scope) -> None:
        if inverse := trace_inverse(e, scope):
            traces.append(inverse)
            visit(inverse[0], scope)
            return
        if isinstance(e, Apply) and e.atom in ("inv", "root") and not infer(e, scope).is_constant:
            nodes.append(e)
        for part in typed_parts(e, scope) if isinstance(e, Apply | Entries) else ():
            visit(*part)

    visit(expr, scope)
    return traces, list(dict.fromkeys(nodes))


def _expressions(checked: Checked) -> Iterator[tuple[Expr, Scope, str, Family | None]]:
    """The objective and the sides of constraints, each with its line and the family that repeats it."""
    yield checked.program.objective, checked.lines, "objective", None
    for c in checked.program.constraints:
        decided = line(checked, c)
        for side in (decided.relation.left, decided.relation.right):
            yield side, decided.scope, c.name, c.family if decided.loop else None


def implied_psd(checked: Checked) -> set[str]:
    """Psd variables whose definiteness another cone of the program states already."""
    inner: list[Expr] = []
    for expr, scope, _, _ in _expressions(checked):
        traces, nodes = curved_nodes(expr, scope)
        inner += [*(t[0] for t in traces), *(n.args[0] for n in nodes)]
    inner += [
        e
        for c in checked.program.constraints
        if _is_psd_block(c.relation) and isinstance(c.relation.left, Block)
        for i, row in enumerate(c.relation.left.rows)
        for e in row[i : i + 1]  # the diagonal
    ]
    return {e.id for e in inner if isinstance(e, Name)}


def _entries(kind: Type, sizes: Mapping[str, int]) -> int:
    """The number of entries of a value."""
    return math.prod(dim.value(sizes) for dim in kind.dims)


def _triangle(side: int) -> int:
    """The unknowns of a symmetric matrix."""
    return side * (side + 1) // 2


def _cones_of_curved(checked: Checked, sizes: Mapping[str, int]) -> Iterator[tuple[Cone, int]]:
    """The cones that curved expressions become, each with the unknowns that it adds."""
    nodes_before: set[Apply] = set()
    atoms_before: set[Apply] = set()  # filled by ``cones_of_atoms``
    for expr, scope, origin, family in _expressions(checked):
        traces, nodes = curved_nodes(expr, scope)
        for trace in traces:
            side, width = _trace_block(trace, scope, sizes)
            yield Cone("psd", side + width, 1, origin), _triangle(width)
        sides = [infer(node, scope).dims[0].value(sizes) for node in nodes if node not in nodes_before]
        yield from ((Cone("psd", 2 * side, 1, origin), _triangle(side)) for side in sides)
        nodes_before.update(nodes)
        repeated = family.dim.value(sizes) if family else 0
        for _, kind, size, count, unknowns in cones_of_atoms(expr, scope, sizes, repeated, atoms_before):
            yield Cone(kind, size, count, origin), unknowns


def cones_of_atoms(
    expr: Expr, scope: Scope, sizes: Mapping[str, int], repeated: int, before: set[Apply]
) -> Iterator[tuple[str, str, int, int, int]]:
    """(atom, kind, size, count, unknowns) of the cones that the atoms of an expression add.

    ``repeated``: the number of lines of a family; 0 for a line that stands alone, where an atom that occurs
    several times in the program is lowered once, as cvxpy does; ``before`` has those lowered so far.
    """
    # A block matrix is affine in its entries: no curved atom is inside.
    if isinstance(expr, Entries):
        count = (repeated or 1) * count_entries(expr, sizes)
        yield from cones_of_atoms(expr.body, scope.among(expr), sizes, count, before)
    if isinstance(expr, Index):
        yield from cones_of_atoms(expr.base, scope, sizes, repeated, before)
    if not isinstance(expr, Apply) or ATOMS[expr.atom].takes_dim or infer(expr, scope).is_constant:
        return
    for inner in expr.args:
        yield from cones_of_atoms(inner, scope, sizes, repeated, before)
    form = ATOMS[expr.atom].cones
    # A quotient is curved in its denominator.
    bends = infer(expr.args[-1 if expr.atom == "div" else 0], scope)
    if form is None or (expr.atom == "div" and bends.is_constant) or expr in before:
        return
    if not repeated:
        before.add(expr)
    shape = tuple(dim.value(sizes) for dim in bends.dims)
    exponent = number_of(expr.args[1]) if expr.atom == "pow" else None
    # Without its number a power may be any, and takes a power cone.
    added = form(shape, _entries(infer(expr, scope), sizes), math.pi if exponent is None else float(exponent))
    times = repeated or 1
    for kind, size, count, unknowns in added:
        yield expr.atom, kind, size, count * times, unknowns * times


def count_entries(entries: Entries, sizes: Mapping[str, int]) -> int:
    """The number of selected entries; of all, if the selection depends on a number that is no dimension."""
    try:
        return len(entry_indices(entries, sizes).places)
    except KeyError:
        return math.prod(f.dim.value(sizes) for f in entries.families)


def cones(checked: Checked, sizes: Mapping[str, int]) -> list[Cone]:
    """The cones of a program at the given sizes, without building anything."""
    out = [cone for cone, _ in _cones_of_curved(checked, sizes)]
    for c in checked.program.constraints:
        if not is_rank(c):
            out += _constraint_cones(checked, c, sizes)
    implied = implied_psd(checked)
    for d in checked.program.choose:
        if d.kind == "psd" and d.name not in implied:
            out.append(Cone("psd", d.dims[0].value(sizes), 1, d.name))
        if d.sign:
            out.append(Cone("nonnegative", 1, _entries(checked.types[d.name], sizes), d.name))
    return out


def _constraint_cones(checked: Checked, c: Constraint, sizes: Mapping[str, int]) -> list[Cone]:
    """The cones of a line, without those that its curved expressions become."""
    decided, times = line(checked, c), c.family.dim.value(sizes) if c.family else 1
    if decided.pair:
        return [Cone("second-order", 3, times, c.name)]
    scope, sides = decided.scope, (decided.relation.left, decided.relation.right)
    left, right = (infer(e, scope) for e in sides)
    if c.relation.op in (">>", "<<"):
        return [Cone("psd", (left if left.is_matrix else right).dims[0].value(sizes), times, c.name)]
    kind = "zero" if c.relation.op == "==" else "nonnegative"
    if isinstance(decided.relation.left, Entries):
        return [Cone(kind, 1, count_entries(decided.relation.left, sizes), c.name)]
    rows = max(_entries(left, sizes), _entries(right, sizes)) * (times if decided.loop else 1)
    return [Cone(kind, 1, rows, c.name)]


OF_AN_ENTRY = 0.125  # of what a coefficient takes in memory: an entry of what is given, zero or not


def coefficients(checked: Checked, env: Mapping[str, Any]) -> float:
    """The number of coefficients in the objective, the lines and the arguments of curved atoms, about.

    Products are counted with the entries of what is given that are not zeros, evenly spread.
    """
    sizes = {name: value for name, value in env.items() if isinstance(value, int)}
    of_arguments = 0.0

    def entries(e: Expr, scope: Scope) -> int:
        return _entries(infer(e, scope), sizes)

    def nonzeros(e: Expr, scope: Scope) -> int:
        if isinstance(e, Apply) and e.atom == "transpose":
            return nonzeros(e.args[0], scope)
        value = env.get(e.id) if isinstance(e, Name) else None
        return int(np.count_nonzero(value)) if isinstance(value, np.ndarray) else entries(e, scope)

    def count(e: Expr, scope: Scope) -> float:
        """The coefficients of all entries of an expression."""
        nonlocal of_arguments
        kind = infer(e, scope)
        if kind.is_constant or isinstance(e, Name):
            return 0.0 if kind.is_constant else _entries(kind, sizes)
        parts = [(part, inner, count(part, inner)) for part, inner in typed_parts(e, scope)]
        total = sum(number for _, _, number in parts)
        match e:
            case Apply(atom="matmul", args=(left, right)):
                constant = left if infer(left, scope).is_constant else right
                return total * nonzeros(constant, scope) / infer(right, scope).dims[0].value(sizes)
            case Apply(atom="diag" | "trace", args=(inner,)) if infer(inner, scope).is_matrix:
                return total / infer(inner, scope).dims[0].value(sizes)
            case Index(base=base):
                return total * _entries(kind, sizes) / entries(base, scope)
            case Entries():
                return total * count_entries(e, sizes)
            case Apply(atom=atom) if atom in ENTRYWISE:
                total = sum(n * max(1.0, _entries(kind, sizes) / entries(p, inner)) for p, inner, n in parts)
        if isinstance(e, Apply) and not kind.curvature.is_affine and ATOMS[e.atom].cones is not None:
            of_arguments += total
            return _entries(kind, sizes)
        return total

    each = [
        count(expr, scope) * (family.dim.value(sizes) if family else 1)
        for expr, scope, _, family in _expressions(checked)
    ]
    dense = sum(value.size for value in env.values() if isinstance(value, np.ndarray))
    return sum(each) + of_arguments + OF_AN_ENTRY * dense


def variables(checked: Checked, sizes: Mapping[str, int]) -> int:
    """Scalar unknowns: the chosen variables and those that the cones add."""
    chosen = (
        _triangle(d.dims[0].value(sizes))
        if d.kind in ("psd", "symmetric")
        else _entries(checked.types[d.name], sizes)
        for d in checked.program.choose
    )
    return sum(chosen) + sum(unknowns for _, unknowns in _cones_of_curved(checked, sizes))


def _trace_block(
    trace: tuple[Expr, list[Expr], list[Expr]], scope: Scope, sizes: Mapping[str, int]
) -> tuple[int, int]:
    """Sides of F and of T in the block [[F, M], [Mᵀ, T]] of ``trace(L @ inv(F) @ R)``."""
    inner, left, right = trace
    side = infer(inner, scope).dims[0].value(sizes)
    ends = infer((right or left)[-1], scope).dims if (right or left) else ()
    return side, min(ends[-1].value(sizes), side) if ends else side


def sizes_of_lines(checked: Checked, env: Mapping[str, Any]) -> dict[str, int]:
    """The dimensions of ``env``, and the numbers of rows of factors, which only a value's shape tells.

    Raises
    ------
    OptionError : a range below zero, a variable or a factor without entries, an index beyond its array, or
        an atom of no numbers (the largest of none); with the place.
    """
    sizes = {name: value for name, value in env.items() if isinstance(value, int)}
    for name, value in env.items():
        if name in checked.lines.types and isinstance(value, np.ndarray):
            each = zip(checked.lines.types[name].dims, value.shape, strict=False)
            # Numbers of rows that only the value tells: of dimensions ``?rows(…)`` without a size so far.
            sizes |= {dim.name: n for dim, n in each if dim.name.startswith("?") and dim.name not in sizes}
    nodes, locate = list(_nodes(checked)), checked.program.source.locate
    for node, scope in nodes:
        if isinstance(node, Apply) and names_in(node) <= env.keys() and (dims := infer(node, scope).dims):
            rows = f"?rows({to_source(node)})"
            if dims[0].name == rows and rows not in sizes:
                sizes[rows] = len(evaluate(node, env))
                if not sizes[rows]:
                    raise OptionError(f"'{to_source(node)}' has no rows here", where=locate(node.span))
    for d, dim in [(chosen, dim) for chosen in checked.program.choose for dim in chosen.dims]:
        if dim.symbols <= sizes.keys() and dim.value(sizes) < 1:
            raise OptionError(
                f"'{d.name}' has no entries: {dim} is {dim.value(sizes)} here",
                where=locate(d.span),
                hint="ask about more cells, or leave it out",
            )
    for family in (c.family for c in checked.program.constraints if c.family):
        _count(checked, family, sizes)
    for node, scope in nodes:
        _check_indices(checked, node, scope, sizes)
    return sizes


def _nodes(checked: Checked) -> Iterator[tuple[Expr, Scope]]:
    """Every part of the objective and of the constraints, with the names in it."""
    if checked.program.objective is not None:
        yield from scoped(checked.program.objective, checked.lines)
    for c in checked.program.constraints:
        for side in (c.relation.left, c.relation.right):
            yield from scoped(side, checked.lines.inside(c.family))


def _count(checked: Checked, family: Family, sizes: Mapping[str, int]) -> int | None:
    """The number of indices; None where it depends on missing sizes."""
    if not family.dim.symbols <= sizes.keys():
        return None
    count = family.dim.value(sizes)
    if count < 0:
        raise OptionError(
            f"'{family.index}' runs over {family.dim}, which is {count} here",
            where=checked.program.source.locate(family.span),
            hint="a range may be empty (0), not less: ask about more cells",
        )
    return count


def _check_indices(checked: Checked, node: Expr, scope: Scope, sizes: Mapping[str, int]) -> None:
    """Refuse an index beyond its array, a range below zero, and an atom of no numbers."""
    locate = checked.program.source.locate
    if isinstance(node, Entries):
        for family in node.families:
            _count(checked, family, sizes)
    elif isinstance(node, Apply) and node.atom == "diff":
        dim = infer(node.args[0], scope).dims[0]
        if dim.symbols <= sizes.keys() and dim.value(sizes) < 2:
            raise OptionError(
                f"'{to_source(node.args[0])}' has one entry, and 'diff' needs two: {dim} is 1 here",
                where=locate(node.span),
                hint="ask about more cells, or leave it out",
            )
    elif isinstance(node, Apply) and node.atom != "sum":  # the sum of nothing is 0
        for part in node.args:
            families = part.families if isinstance(part, Entries) else ()
            for empty in [f for f in families if _count(checked, f, sizes) == 0]:
                raise OptionError(
                    f"there is no {node.atom} of no numbers: '{empty.index}' runs over {empty.dim}, "
                    "which is 0 here",
                    where=locate(empty.span),
                    hint="ask about more cells, or leave it out",
                )
    elif isinstance(node, Index) and names_in(node.base) <= {*scope.types, *sizes}:
        for item, dim in zip(node.items, infer(node.base, scope).dims, strict=True):
            if item is None or not names_in(item) <= sizes.keys() or not dim.symbols <= sizes.keys():
                continue
            at, size = float(evaluate(item, sizes)), dim.value(sizes)
            if not 0 <= at < size:
                raise OptionError(
                    f"an index of '{to_source(node.base)}' is {at:g}, expected 0 to {size - 1}",
                    where=locate(item.span),
                    hint="entries are counted from 0",
                )
