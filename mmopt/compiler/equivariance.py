"""Actions on a workload that leave a program as it is.

They are decided by a program's tree, never by its name. Objective, constraints, certificate, repair
and the meaning of the solution are typed by the actions of ``actions_on_expressions.py``. If all of them go
with an action, then a feasible point and multipliers of the changed workload become those of the given one,
with the same objective and the same bound, and a solution of one is a solution of the other. Permutations and
rotations have to be kept by every line. Repeating, splitting and changing the basis need not be kept by the
repair and the meaning: a lifted point is repaired again, and it comes from a strategy (``from strategy``),
whatever the program's own variables are.
"""

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from mmopt.compiler.actions_on_expressions import (
    CHANGE_BASIS,
    DROP_CELLS,
    LOST_BY_ATOM,
    LOST_BY_DEGREE,
    REPEAT_CELLS,
    SOURCE_AXES,
    SPLIT_QUERIES,
    Acted,
    ActionVisitor,
    Axis,
    close,
    is_number_zero,
)
from mmopt.language import Checked
from mmopt.language.check.infer_types import infer
from mmopt.language.syntax.syntax_tree import (
    Block,
    Constraint,
    Declaration,
)

DEGREES = (0.0, 1.0, 0.5)  # that a variable may have along an axis
# Actions that are lost by degrees only: the repair and the meaning need not keep them.
DEGREES_ONLY = (REPEAT_CELLS, DROP_CELLS, SPLIT_QUERIES, CHANGE_BASIS)


@dataclass(frozen=True)
class Equivariance:
    """The actions under which a program is equivariant, and the axes of its multipliers.

    faults : for every action that changes the program, the line that is to blame and why.
    multipliers : the axes of the multipliers by constraint (``name[i, i]`` for a diagonal block).
    per_query : whether queries occur only in lines of their own, added up nowhere but in the certificate.
    """

    faults: Mapping[str, str]
    multipliers: Mapping[str, tuple[Axis, ...]]
    per_query: bool

    def allows(self, *actions: str) -> bool:
        """Whether all of these actions leave the program as it is."""
        return not self.why_not(*actions)

    def why_not(self, *actions: str) -> str:
        """The line that the first of the actions changes, in words; "" when none does."""
        return next((f"{self.faults[a]} ({a})" for a in actions if a in self.faults), "")


def equivariance(
    checked: Checked, passed: frozenset[str] = frozenset(), numbers: Mapping[str, float] | None = None
) -> Equivariance:
    """The actions that leave a program as it is, with those degrees of its variables that lose the fewest.

    Parameters
    ----------
    checked : the program.
    passed : givens and parameters that the caller passes; an array that comes from outside goes with no
        action.
    numbers : values of the parameters that are numbers, for exponents; a power whose exponent is not among
        them goes with no action.
    """
    readings = [_typed(checked, passed, numbers or {}, chosen) for chosen in _choices(checked)]
    return min(readings, key=lambda e: len(e.faults))


def _groups(checked: Checked, passed: frozenset[str]) -> dict[str, set[str]]:
    """The groups that act on a dimension, by its name."""
    groups: dict[str, set[str]] = {}
    for d in checked.program.givens:
        if d.name not in passed:
            for dim, axis in zip(d.dims, SOURCE_AXES.get(d.source, ()), strict=False):
                for name in dim.symbols:
                    groups.setdefault(name, set()).add(axis.group)
    return groups


def _choices(checked: Checked) -> Iterator[dict[str, tuple[float, ...]]]:
    """Every choice of degrees for the variables, one for each axis of each."""
    options = [
        [(degree,) * 2 for degree in DEGREES]
        if d.kind in ("psd", "symmetric")
        else list(itertools.product(DEGREES, repeat=len(d.dims)))
        for d in checked.program.choose
    ]
    for degrees in itertools.product(*options):
        yield {d.name: p for d, p in zip(checked.program.choose, degrees, strict=True)}


def _typed(
    checked: Checked,
    passed: frozenset[str],
    numbers: Mapping[str, float],
    degrees_of: Mapping[str, tuple[float, ...]],
) -> Equivariance:
    """The actions that leave a program as it is when its variables have the degrees ``degrees_of``."""
    program = checked.program
    by_dimension = _groups(checked, passed)
    groups = {name: min(acting) for name, acting in by_dimension.items()}
    visitor = ActionVisitor(checked.scope, groups, {}, numbers, {}, set(), "given")
    for name, acting in by_dimension.items():
        if len(acting) > 1:
            visitor.lose(LOST_BY_ATOM, acting, f"'{name}' counts {' and '.join(sorted(acting))}")
    _givens(checked, passed, visitor)
    for let in program.lets:
        visitor.line = let.name
        visitor.names[let.name] = visitor.visit(let.expr)
    for d in program.choose:
        visitor.names[d.name] = _declared(visitor, d, degrees_of[d.name])
    visitor.line = "the objective"
    visitor.visit(program.objective)
    multipliers: dict[str, tuple[Axis, ...]] = {}
    for c in program.constraints:
        visitor.line, visitor.scope = f"constraint '{c.name}'", checked.scope.inside(c.family)
        multipliers |= _constraint(visitor, c)
    visitor.scope = checked.scope
    per_query = "queries" not in visitor.summed
    visitor.line = "the certificate"
    for m in program.multipliers:
        degrees = tuple(Axis(visitor.group(d)) for d in m.declaration.dims if m.start is None)
        typed = Acted(multipliers.get(m.key, degrees)) if m.start is None else visitor.visit(m.start)
        visitor.names[m.declaration.name] = typed
    if program.certificate is not None:
        visitor.visit(program.certificate.expr)
    before_repair = {action: why for action, why in visitor.faults.items() if action in DEGREES_ONLY}
    for assignment in program.repair:
        visitor.line = "the repair"
        visitor.visit(assignment.expr)
    if program.meaning is not None:
        visitor.line = f"the {program.meaning.kind}"
        visitor.visit(program.meaning.expr)
    faults = {a: why for a, why in visitor.faults.items() if a not in DEGREES_ONLY} | before_repair
    return Equivariance(faults, multipliers, per_query)


def _givens(checked: Checked, passed: frozenset[str], visitor: ActionVisitor) -> None:
    """Type givens and parameters; arrays that do not come from the workload go with no action."""
    program = checked.program
    for d in program.givens:
        axes = None if d.name in passed else SOURCE_AXES.get(d.source)
        visitor.line = f"the given '{d.name}'"
        if d.dims and axes is None:
            is_passed = d.name in passed or not d.source
            why = "passed by the caller" if is_passed else f"{d.source} is a choice among others"
            visitor.lose(LOST_BY_ATOM, LOST_BY_ATOM, why)
        visitor.names[d.name] = Acted(tuple(Axis() for _ in d.dims) if axes is None else axes)
    for p in program.parameters:
        if p.declared is not None and p.declared.kind == "dim":
            continue  # counts the rows of something that no action touches
        visitor.line = f"the parameter '{p.name}'"
        shaped = checked.types.get(p.name)
        if shaped is not None and shaped.dims and p.name in passed:
            visitor.lose(LOST_BY_ATOM, LOST_BY_ATOM, "passed by the caller")
        typed = visitor.visit(p.expr)
        visitor.names[p.name] = Acted() if shaped is None or not shaped.dims else typed


def _declared(visitor: ActionVisitor, d: Declaration, degrees: tuple[float, ...]) -> Acted:
    """A variable with these degrees; along a root's rows it is always 1/2: there only rotations act."""
    axes = zip(map(visitor.group, d.dims), degrees, strict=True)
    return Acted(tuple(Axis(group, 0.5 if group == "root" else degree) for group, degree in axes))


def _constraint(visitor: ActionVisitor, c: Constraint) -> dict[str, tuple[Axis, ...]]:
    """Type a relation; return the axes of its multiplier, by which multiplier and line pair to a number."""
    index = c.family.index if c.family else ""
    family: tuple[Axis, ...] = () if c.family is None else (Axis(visitor.group(c.family.dim)),)
    visitor.lose_rotations(family, "a line for each entry along a rotated axis")
    left, right, is_order = c.relation.left, c.relation.right, c.relation.op in (">>", "<<")
    if is_order and isinstance(left, Block) and is_number_zero(right):
        return _psd_block(visitor, c.name, left, family, index)
    sides = [visitor.visit(left), visitor.visit(right)]
    both = visitor.sum_or_relation(sides, (left, right))
    axes = max((s.axes for s in sides), key=len)
    if not is_order:
        _untouched(visitor, c, sides)
        visitor.lose_rotations(axes, "a relation entry by entry along a rotated axis")
    family = tuple(both.index.get(index, axis) for axis in family)
    return {c.name: tuple(Axis(a.group, 1.0 - a.degree, a.odd) for a in (*family, *axes))}


def _untouched(visitor: ActionVisitor, c: Constraint, sides: list[Acted]) -> None:
    """Note a line that does not hold with zeros at a cell that no query touches."""
    if not any(s.has_cells for s in sides) and not (c.family and visitor.group(c.family.dim) == "cells"):
        return
    signs = [infer(e, visitor.scope).sign for e in (c.relation.left, c.relation.right)]
    small, large = (0, 1) if c.relation.op == "<=" else (1, 0)
    zero = sides[small].has_cells and sides[small].vanishes
    # Zero is at most a side that is not negative, also one that bounds a nonnegative side at other cells.
    safe = signs[large] > 0 or (signs[small] > 0 and not sides[large].has_cells)
    both = all(s.has_cells and s.vanishes for s in sides)
    if not both and (c.relation.op == "==" or not (zero and safe)):
        visitor.lose_untouched("does not hold at a cell by itself")


def _psd_block(
    visitor: ActionVisitor, name: str, block: Block, family: tuple[Axis, ...], index: str
) -> dict[str, tuple[Axis, ...]]:
    """Type a psd block matrix, entry (i, j) with the degrees of row i and of column j.

    Returns the axes of the multipliers of its diagonal blocks. family, index : of the line, as an axis and by
    name; () and "" for a line that occurs once.
    """
    entries = [[visitor.visit(e) for e in row] for row in block.rows]
    diagonal = [entries[i][i] for i in range(len(entries))]
    # Row i, and column i, has half of the degree that diagonal block i has in the index.
    half = [d.index[index].degree / 2 if index in d.index else 0.0 for d in diagonal]
    for i, row in enumerate(entries):
        for j, entry in enumerate(row):
            if is_number_zero(block.rows[i][j]):
                continue
            if family:
                group = next((a.group for e in (*row, *diagonal) if (a := e.index.get(index))), "")
                if not close(entry.index.get(index, Axis(group)).degree, half[i] + half[j]):
                    visitor.lose(LOST_BY_DEGREE, {group}, "blocks that split differently")
            _sides(visitor, entry, infer(block.rows[i][j], visitor.scope).is_row, diagonal[i], diagonal[j])
            if entry.has_cells and not entry.vanishes:
                visitor.lose_untouched("does not hold at a cell by itself")
    return {
        f"{name}[{i}, {i}]": (
            *(Axis(axis.group, 1.0 - 2.0 * half[i]) for axis in family),
            *(replace(a, degree=1.0 - a.degree) for a in entry.axes),
        )
        for i, entry in enumerate(diagonal)
    }


def _sides(visitor: ActionVisitor, entry: Acted, is_row: bool, down: Acted, across: Acted) -> None:
    """Note where axes of a block differ from those of the diagonal blocks ``down`` its row and ``across``.

    is_row : whether the block is a row vector.
    """
    ends = ((*down.axes, Axis())[0], (Axis(), *across.axes)[-1])
    if len(entry.axes) < 2:
        ends = ((*(across if is_row else down).axes, Axis())[0],) * 2
    for one, two in zip(entry.axes, ends, strict=False):
        if one.group != two.group or not close(one.degree, two.degree):
            visitor.lose(LOST_BY_DEGREE, {one.group, two.group}, "blocks that repeat or split differently")
    if entry.diagonal and entry is not down:
        visitor.lose(LOST_BY_DEGREE, {a.group for a in entry.axes}, "a diagonal block beside others")
