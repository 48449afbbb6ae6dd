"""The lines of a program surveyed: every node with its type and, in words, the rule of its curvature.

The words follow from the rules of the atoms themselves: each is applied to an affine argument, so that what
is printed is what is checked. Lines are surveyed whether or not they are convex.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce

from mmopt.errors import ProgramError
from mmopt.language.atoms.expression_types import Curvature, RuleError, Type
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.infer_types import Scope, infer, options_of
from mmopt.language.check.names_and_relations import SIDES
from mmopt.language.check.whole_program import Checked, check
from mmopt.language.syntax.parse_and_write_expressions import number_text, to_source
from mmopt.language.syntax.program import Program
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
    Span,
    chain,
)
from mmopt.limits import require_time

# Nodes of the trees of one line, and of all lines, beyond which a tree is left out.
MOST_OF_LINE, MOST_NODES = 400, 1_600
ORDER = "in the order of psd matrices"


@dataclass(frozen=True)
class TypedNode:
    """An expression, its type, the rule that gives its curvature in words, and its parts.

    A product of several factors is one node, and so is the trace of a product whose curvature only the
    trace has; then the factors are the parts. Indices, exponents and sizes are not parts. ``same``: an
    earlier node of the same constraint (or objective) with an equal expression, which has the parts; never a
    leaf, nor a node with only one leaf below.
    """

    expr: Expr
    type: Type
    rule: str
    parts: tuple["TypedNode", ...] = ()
    same: "TypedNode | None" = None

    @property
    def is_worth_naming(self) -> bool:
        """Whether later nodes refer to it; not if its curvature is lost, as the cause may be inside."""
        is_small = len(self.parts) < 2 and not any(part.parts or part.same for part in self.parts)
        return not is_small and not self.type.is_broken

    def nodes(self) -> Iterator["TypedNode"]:
        """The node and everything below it."""
        yield self
        for part in self.parts:
            yield from part.nodes()


@dataclass(frozen=True)
class LineSurvey:
    """The objective (``constraint`` is None) or a constraint: its sides, and the curvature that each needs.

    ``fault`` is the error that the check would raise, and ``blamed`` the node that it points at.
    ``left_out``: the reason why the sides have no parts here, in words.
    """

    constraint: Constraint | None
    sides: tuple[TypedNode, ...]
    wanted: tuple[str, ...]
    fault: ProgramError | None
    blamed: TypedNode | None
    left_out: str

    @property
    def name(self) -> str:
        return self.constraint.name if self.constraint else ""


@dataclass(frozen=True)
class Survey:
    """A program whose names and shapes fit, with its objective and constraints in order."""

    checked: Checked
    lines: tuple[LineSurvey, ...]


def survey(program: Program) -> Survey:
    """The types of every node of the objective and the constraints.

    Raises :class:`~mmopt.errors.ProgramError` for names and shapes that do not fit, not for a
    constraint of the wrong curvature.
    """
    faults: dict[str, ProgramError] = {}
    checked = check(program, faults)
    program = checked.program
    rows: list[tuple[Constraint | None, tuple[Expr, ...], tuple[str, ...]]] = []
    # The objective of a procedure is evaluated after its steps, not optimised.
    if checked.objective is not None:
        wanted = "convex" if program.sense == "minimize" else "concave"
        rows.append((None, (program.objective,), (wanted,)))
    rows += [(c, (c.relation.left, c.relation.right), SIDES[c.relation.op]) for c in program.constraints]
    lines, room = [], MOST_NODES
    for c, sides, wants in rows:
        tree, left_out = _Tree(min(MOST_OF_LINE, room)), ""
        nodes = tuple(describe(checked, side, c.family if c else None, tree) for side in sides)
        if tree.count > tree.most:
            of = f"this expression has more than {MOST_OF_LINE}"
            of = of if tree.count > MOST_OF_LINE else f"the expressions have more than {MOST_NODES:,} in all"
            left_out = f"Its parts are not shown: {of}. All of them were checked."
            nodes = tuple(replace(node, parts=()) for node in nodes)
        else:
            room -= tree.count
        fault = faults.get(c.name if c else "")
        lines.append(LineSurvey(c, nodes, wants, fault, _blamed(nodes, fault), left_out))
    return Survey(checked, tuple(lines))


@dataclass
class _Tree:
    """The nodes of a line: how many there may be and are, and the first one of each expression."""

    most: int = MOST_OF_LINE
    count: int = 0
    first: dict[Expr, TypedNode] = field(default_factory=dict)


def _blamed(sides: tuple[TypedNode, ...], fault: ProgramError | None) -> TypedNode | None:
    """The node at which the error points: of several the innermost that is neither convex nor concave."""
    where = fault.where if fault else None
    place = where and Span(where.line, where.column, where.width)
    nodes = [node for side in sides for node in side.nodes() if node.expr.span == place]
    broken = [node for node in nodes if node.type.is_broken]
    return broken[-1] if broken else nodes[0] if nodes else None


def describe(
    checked: Checked, expr: Expr, family: Family | None = None, tree: _Tree | None = None
) -> TypedNode:
    """The expression as a tree: for each part its type and, in words, the rule of its curvature.

    family : the one whose index may occur. tree : that of its line, which counts the nodes; where these are
    too many, the last ones have no parts.
    """
    program = checked.program
    roles = {d.name: "data" for d in program.givens}
    roles |= {p.name: "a parameter" for p in program.parameters}
    roles |= {let.name: "computed from data" for let in program.lets}
    roles |= {d.name: "a variable" for d in program.choose}
    if family:
        roles[family.index] = "the index of the family"
    tree = tree or _Tree()
    scope = checked.lines.inside(family)
    return _describe(expr, infer(expr, scope), scope, roles, tree, tree.first)


def _describe(
    expr: Expr,
    inferred: Type,
    scope: Scope,
    roles: Mapping[str, str],
    tree: _Tree,
    first: dict[Expr, TypedNode],
) -> TypedNode:
    """``describe``, with the roles of names in words, and the ``first`` nodes of expressions here."""
    require_time()
    tree.count += 1
    earlier = first.get(expr)
    if earlier and earlier.is_worth_naming:
        return TypedNode(expr, earlier.type, earlier.rule, (), earlier)
    if isinstance(expr, Entries):
        indices = dict.fromkeys((f.index for f in expr.families), "an index of these entries")
        within = scope.among(expr)
        part = _describe(expr.body, infer(expr.body, within), within, {**roles, **indices}, tree, {})
        node = TypedNode(expr, inferred, part.rule if inferred.is_constant else "its entries are", (part,))
    else:
        inner = [(e, infer(e, scope)) for e in _parts(expr, inferred, scope)]
        rule = _rule(expr, inferred, [kind for _, kind in inner], roles, scope)
        shown = inner if tree.count <= tree.most else ()
        parts = tuple(_describe(*part, scope, roles, tree, first) for part in shown)
        node = TypedNode(expr, inferred, rule, parts)
    first.setdefault(expr, node)
    return node


def _parts(expr: Expr, inferred: Type, scope: Scope) -> Sequence[Expr]:
    """The parts of a node (see ``TypedNode``)."""
    has_curvature = not inferred.is_broken
    match expr:
        case Index(base=base):
            return [base]
        case Block(rows=rows):
            return [e for r in rows for e in r]
        case Apply(atom="trace", args=(inner,)) if has_curvature and infer(inner, scope).is_broken:
            return chain(inner)
        case Apply(atom="matmul") if has_curvature:
            return chain(expr)
        case Apply(atom="pow", args=(base, _)):
            return [base]
        case Apply(atom=atom, args=args):
            return [] if ATOMS[atom].takes_dim else args
    return []


def _rule(expr: Expr, inferred: Type, parts: Sequence[Type], roles: Mapping[str, str], scope: Scope) -> str:
    """The rule that gives the curvature, in words; ``parts``: their types."""
    if isinstance(expr, Number):
        return "a number"
    if isinstance(expr, Name):
        return roles.get(expr.id, "a dimension")
    if inferred.is_constant:
        return "contains no variable"
    if inferred.is_broken:
        return "a part of it is neither by the rules" if any(p.is_broken for p in parts) else inferred.why
    if isinstance(expr, Index):
        article = "an" if inferred.curvature.is_affine else "a"
        return f"entries of {article} {inferred.curvature.value} expression"
    if inferred.curvature.is_affine:
        return _affine(expr)
    assert isinstance(expr, Apply)  # blocks of curved expressions are neither convex nor concave
    return _curved(expr, inferred, parts, scope)


def _affine(expr: Expr) -> str:
    """The rule of an affine expression."""
    match expr:
        case Block():
            return "a matrix of affine blocks"
        case Apply(atom="add" | "sub"):
            return "a sum of affine parts"
        case Apply(atom="mul" | "matmul" | "div"):
            return "affine times constants"
    return f"{_name_in_words(expr)} is linear" if isinstance(expr, Apply) else ""


def _curved(expr: Apply, inferred: Type, parts: Sequence[Type], scope: Scope) -> str:
    """The rule of a convex or concave expression, by the curvature of its atom in an affine argument."""
    curved = f"{inferred.curvature.value}{f' {ORDER}' if inferred.loewner else ''}"
    # The argument that the rule is about: the first that is curved, or else the first that is chosen.
    ranks = [(not p.curvature.is_affine) + (not p.is_constant) for p in parts]
    inner = parts[at := ranks.index(max(ranks))]
    kinds = [p.curvature.value for p in parts]
    if expr.atom == "sub":
        return f"{kinds[0]} minus {kinds[1]}"
    if expr.atom == "add":
        return f"a sum of {' and '.join(dict.fromkeys(kinds))} parts"
    if expr.atom == "matmul" and inner.loewner:
        return f"Mᵀ F M keeps the curvature that F has {ORDER}"
    if expr.atom == "trace" and infer(expr.args[0], scope).is_broken:
        return f"tr(P F) with P ⪰ 0 keeps the curvature that F has {ORDER}"
    types = [infer(a, scope) for a in expr.args] if expr.atom != "matmul" else parts
    bent = _of_affine(expr, types, at, scope)
    if inner.curvature.is_affine:
        return f"{_name_in_words(expr)} is {curved}, its argument is affine"
    if bent is not None and bent.is_affine:
        is_kept = inferred.curvature is inner.curvature
        if expr.atom in ("mul", "matmul", "div"):
            return f"times a constant {'≥ 0 keeps' if is_kept else '≤ 0 turns'} the curvature"
        as_whole = f" {ORDER}" if inner.loewner and not inferred.loewner else ""
        return f"{_name_in_words(expr)} {'keeps' if is_kept else 'turns'} the curvature{as_whole}"
    moves = "increasing" if inner.curvature is bent else "decreasing"
    signed = expr.atom == "pow" or ATOMS[expr.atom].even  # these rise or fall by the sign of their argument
    among = {1: " for numbers ≥ 0", -1: " for numbers ≤ 0"}.get(inner.sign, "") if signed else ""
    return f"{_name_in_words(expr)} is {curved} and {moves}{among}, its argument is {inner.curvature.value}"


def _of_affine(expr: Apply, types: Sequence[Type], at: int, scope: Scope) -> Curvature | None:
    """The curvature of the atom on an affine argument; None where its rule refuses one."""
    args = list(types)  # all but argument ``at`` as they are
    args[at] = replace(args[at], curvature=Curvature.AFFINE, loewner=False, why="")
    rule = ATOMS[expr.atom].rule
    try:
        # A product may have any number of factors.
        whole = reduce(rule, args) if expr.atom == "matmul" else rule(*args, **options_of(expr, scope))
        return whole.curvature
    except RuleError:
        return None


def _name_in_words(expr: Apply) -> str:
    """The atom as a rule names it."""
    match expr:
        case Apply(atom="pow", args=(_, exponent)):
            value = number_text(exponent.value) if isinstance(exponent, Number) else to_source(exponent)
            return f"the power {value}"
        case Apply(atom="neg"):
            return "minus"
        case Apply(atom="div"):
            return "a constant ≥ 0 over its argument"
        case Apply(options=(("axis", axis),)):
            return f"{expr.atom} by {'column' if axis == 0 else 'row'}"
    return expr.atom
