"""The facts of a program as frozen data, which the renderers only arrange, and those of its text.

Those of the text alone are its lines typeset, the curvature of every node, its bound in words.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import islice
from typing import Any

from mmopt.compiler.bind import is_shipped
from mmopt.errors import Location
from mmopt.language import (
    Apply,
    Block,
    Certificate,
    Checked,
    Dim,
    Entries,
    Expr,
    Formula,
    Index,
    LineSurvey,
    Multiplier,
    Name,
    Number,
    Program,
    Relation,
    Scope,
    Sentence,
    Type,
    TypedNode,
    latex_name,
    plain_name,
    print_expr,
    print_relation,
    program_lines,
    prose,
    solved_programs,
    walk,
)
from mmopt.limits import require_time
from mmopt.report.explain.places_in_the_text import Places
from mmopt.report.program_tables_and_forecasts import Sizes


@dataclass(frozen=True)
class Statement:
    """A line of the typeset program; ``label`` names the section on its first line."""

    label: str
    formula: Formula
    words: Sentence


@dataclass(frozen=True)
class NodeFacts:
    """A node of an expression.

    ``short`` is the formula with long arguments left out, and so is ``formula`` where it would be long.
    ``order`` is the order in which a matrix is curved ("psd" for the order of psd matrices, "" entry by
    entry). ``blamed``: whether a line is not convex because of this node. ``where``: its text, which may go
    on in further lines (see ``Places``); None for what the check put in its place. A formula that comes again
    in its line has a ``number``; the later nodes, which have no parts, have it as ``same``.
    """

    formula: Formula
    short: Formula
    shape: str
    sign: str
    curvature: str
    order: str
    rule: str
    blamed: bool
    parts: tuple["NodeFacts", ...]
    where: Location | None = None
    number: int | None = None
    same: int | None = None

    @property
    def words(self) -> str:
        """The rule with the number of the node, or the node above that says more."""
        if self.same:
            return f"as ({self.same}) above"
        return f"({self.number}) {self.rule}" if self.number else self.rule


@dataclass(frozen=True)
class Blamed:
    """Why a line is not convex: the message, the place (its first line), what to do."""

    message: str
    where: Location | None
    hint: str


@dataclass(frozen=True)
class LineFacts:
    """The objective (named ``minimize`` or ``maximize``) or a constraint, with the trees of its sides.

    ``wanted`` is the curvature that each side has to have. ``where``: the text of the formula.
    ``left_out``: why the trees are not shown, in words.
    """

    name: str
    formula: Formula
    sides: tuple[NodeFacts, ...]
    wanted: tuple[str, ...]
    blamed: Blamed | None
    where: Location | None = None
    left_out: str = ""


@dataclass(frozen=True)
class BoundFacts:
    """The bound on the optimum, proved or claimed: its formula, its meaning in words, its proof."""

    formula: Formula | None
    sentences: tuple[Sentence, ...]
    proof: Sentence
    is_claim: bool


@dataclass(frozen=True)
class GivenFacts:
    """A given, parameter or let with its numbers: their origin, shape and figures.

    ``preview`` has the entries of a small array, the first ones of a long vector. ``numbers``: the figures as
    numbers, by what they are.
    """

    name: Formula
    origin: str
    shape: str
    figures: str
    preview: Formula | None
    numbers: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Scale:
    """The growth of a quantity when queries are multiplied by s and targets by t, and the factor used."""

    name: Formula
    power: Formula
    factor: float


@dataclass(frozen=True)
class Handed:
    """A line or a declaration and the form in which it goes to the solver."""

    name: str
    formula: Formula
    how: tuple[Sentence, ...]


@dataclass(frozen=True)
class MatrixFacts:
    """The constraint matrix that the solver gets; ``is_quadratic``: beside a quadratic objective."""

    solver: str
    rows: int
    columns: int
    nonzeros: int
    is_quadratic: bool


@dataclass(frozen=True)
class Compiled:
    """A program at a workload's sizes.

    ``refusal`` is the reason why there is no compiled problem; ``handed``, ``sizes`` and ``matrix`` are empty
    then. ``matrix_words`` is the reason why the matrix was not built; ``scaled`` is None when the lines agree
    on no units. ``counts``: queries, cells, and the rank where known.
    """

    workload: str
    counts: Mapping[str, int]
    dims: tuple[tuple[str, int], ...]
    givens: tuple[GivenFacts, ...]
    scaled: tuple[Scale, ...] | None = None
    reductions: tuple[str, ...] = ()
    handed: tuple[Handed, ...] = ()
    sizes: Sizes | None = None
    matrix: MatrixFacts | None = None
    matrix_words: str = ""
    choice: str = ""
    refusal: str = ""


@dataclass(frozen=True)
class SolvedLine:
    """A constraint at the solution, and its multiplier.

    ``count`` rows of which ``tight`` hold with equality (None where the workload is not known);
    ``multipliers`` : how many there are (0 when none is kept), of which ``zero`` are negligible; ``total``:
    their sum, of a matrix inequality the trace; the ``largest`` with their labels, beside ``more`` that are
    not negligible; more in ``words``.
    """

    name: str
    count: int | None
    tight: int | None
    multipliers: int
    zero: int
    total: float
    largest: tuple[tuple[str, float], ...]
    words: str
    more: int = 0


@dataclass(frozen=True)
class SolvedFacts:
    """Figures of a solution, its constraints; ``legend``: what multipliers mean, for a convex program."""

    rows: tuple[tuple[str, str], ...]
    lines: tuple[SolvedLine, ...]
    legend: str


@dataclass(frozen=True)
class Step:
    """A program that a procedure solves, in its place, with the numbers that are known before it."""

    name: str
    explanation: "Facts"


@dataclass(frozen=True)
class Facts:
    """All facts of a program; ``compiled`` is there with a workload, ``solved`` with a solution.

    givens : rows of ``given_rows``. file_text : that of the program's file.
    """

    name: str
    title: str
    cite: str
    problem_class: str
    formulation_of: str
    about: Sentence
    statements: tuple[Statement, ...]
    givens: tuple[tuple[str, ...], ...]
    file_text: str
    lines: tuple[LineFacts, ...]
    repair: tuple[Sentence, ...]
    bound: BoundFacts
    steps: tuple[Step, ...] = ()
    compiled: Compiled | None = None
    solved: SolvedFacts | None = None


def plain_data(value: Any) -> Any:
    """Facts as values that JSON can hold."""
    if isinstance(value, Sizes):
        return value.summary()
    if isinstance(value, Location):
        return {"line": value.line, "column": value.column, "width": value.width}
    if is_dataclass(value):
        return {f.name: plain_data(getattr(value, f.name)) for f in fields(value)}
    return [plain_data(v) for v in value] if isinstance(value, tuple | list) else value


NEAR = ", and the point may be moved a little, to keep all constraints"  # of a convex program
QUADRATIC = "squares are passed as squares"  # begins the words on what needs no cone in a quadratic objective
DOTS = "…"
SHORT_ARGUMENT = 6  # characters up to which an argument is not left out
LARGEST = 60  # operations, names and numbers of a formula that is shown whole outside of its program


# -- formulas in both prints, and types in a few characters


def formula_of(expr: Expr, scope: Scope) -> Formula:
    """An expression in plain text and LaTeX."""
    return Formula(print_expr(expr, scope, "plain"), print_expr(expr, scope, "latex"))


def brief(expr: Expr, scope: Scope) -> Formula:
    """An expression with dots for its long arguments where it is a large one."""
    return _short(expr, scope) if _is_larger(expr, LARGEST) else formula_of(expr, scope)


def relation_of(relation: Relation, scope: Scope) -> Formula:
    """A relation in plain text and LaTeX, with dots for long arguments of a large side."""
    sides = (relation.left, relation.right)
    left, right = (_opened(e, scope) if _is_larger(e, LARGEST) else e for e in sides)
    relation = replace(relation, left=left, right=right)
    plain, latex = (print_relation(relation, scope, style) for style in ("plain", "latex"))
    return _dotted(Formula(plain, latex))


def name_of(name: str) -> Formula:
    """A name as a formula."""
    return Formula(plain_name(name), latex_name(name))


def _is_larger(expr: Expr, most: int) -> bool:
    """Whether an expression has more nodes; no more of them are visited."""
    return any(True for _ in islice(walk(expr), most, None))


def _short(expr: Expr, scope: Scope) -> Formula:
    """The formula with dots for its long arguments: the operation of the node itself."""
    return _dotted(formula_of(_opened(expr, scope), scope))


def _opened(expr: Expr, scope: Scope) -> Expr:
    """The expression with dots for its long arguments."""
    match expr:
        case Apply(atom, args, span, options):
            return Apply(atom, tuple(_elided(a, scope) for a in args), span, options)
        case Block(rows, span):
            return Block(tuple(tuple(_elided(e, scope) for e in r) for r in rows), span)
        case Index(base, items, span):
            return Index(_elided(base, scope), items, span)
        case Entries(body=body) if _is_larger(body, LARGEST):
            return replace(expr, body=Name(DOTS, body.span))
    return expr


def _dotted(out: Formula) -> Formula:
    """A formula with dots in LaTeX as such."""
    return Formula(out.plain, out.latex.replace(r"\mathrm{…}", r"\dots").replace(DOTS, r"\dots"))


def _elided(expr: Expr, scope: Scope) -> Expr:
    """An argument, or dots in its place where it is long."""
    if isinstance(expr, Name | Number):
        return expr
    is_long = _is_larger(expr, 3 * SHORT_ARGUMENT)  # the shortest print has a character for two of its nodes
    is_long = is_long or len(print_expr(expr, scope, "plain")) > SHORT_ARGUMENT
    return Name(DOTS, expr.span) if is_long else expr


def _dim(dim: Dim) -> str:
    """A size in letters and digits: ``2n`` for 2*n; "some" where it is not known."""
    text = str(dim)
    return "some" if "?" in text else text.replace("*", "")


def _shape(kind: Type) -> str:
    """A shape in words: ``number``, ``vector n``, ``row n``, ``r × n``."""
    if kind.is_scalar:
        return "number"
    if kind.is_vector:
        return f"{'row' if kind.is_row else 'vector'} {_dim(kind.dims[0])}"
    return f"{_dim(kind.dims[0])} × {_dim(kind.dims[1])}"


# -- lines, repair and bound


def statements(checked: Checked) -> tuple[Statement, ...]:
    """The typeset program, line by line."""
    plain, latex = program_lines(checked, "plain"), program_lines(checked, "latex")
    return tuple(
        Statement(label, Formula(text, formula), words)
        for (label, text, words), (_, formula, _) in zip(plain, latex, strict=True)
    )


def line_facts(checked: Checked, line: LineSurvey, places: Places) -> LineFacts:
    """The objective or a constraint, with the tree of each side and the places of all in the text."""
    c = line.constraint
    scope = checked.lines.inside(c.family if c else None)
    if c is None:
        formula = brief(line.sides[0].expr, scope)
    else:
        formula = relation_of(c.relation, scope)
        if c.family:
            index, dim = name_of(c.family.index), str(c.family.dim)
            formula = Formula(
                f"{formula.plain}   ∀ {index.plain} ∈ [{dim}]",
                rf"{formula.latex} \quad \forall {index.latex} \in [{dim}]",
            )
    nodes = [node for side in line.sides for node in side.nodes()]
    repeated = {id(node.same) for node in nodes}
    numbers = {at: i for i, at in enumerate((at for at in map(id, nodes) if at in repeated), 1)}

    def facts(node: TypedNode, inner: Scope) -> NodeFacts:
        require_time()
        kind, below = node.type, inner.among(node.expr) if isinstance(node.expr, Entries) else inner
        return NodeFacts(
            brief(node.expr, inner),
            _short(node.expr, inner),
            _shape(kind),
            "⪰ 0" if kind.psd else {1: "≥ 0", -1: "≤ 0"}.get(kind.sign, ""),
            kind.curvature.value,
            "psd" if kind.loewner else "",
            node.rule,
            node is line.blamed,
            tuple(facts(part, below) for part in node.parts),
            places.of(node.expr),
            numbers.get(id(node)),
            numbers.get(id(node.same)),
        )

    sides, name = tuple(facts(side, scope) for side in line.sides), line.name or checked.program.sense
    where = places.of_line(line.name)
    return LineFacts(name, formula, sides, line.wanted, _blamed(line), where, line.left_out)


def _blamed(line: LineSurvey) -> Blamed | None:
    """The fault of a line, as data; None for a line without one."""
    return None if line.fault is None else Blamed(line.fault.message, line.fault.where, line.fault.hint)


def repair_words(program: Program) -> tuple[Sentence, ...]:
    """The changes to a solver's point before anything is claimed of it, in words."""
    if not program.choose:
        return ()
    after = (
        "Constraints and objective are then evaluated again at the point that results, from the program "
        "file. The solver's own figures are not used."
    )
    if not program.repair:
        first = (
            "A solver's point is only nearly feasible. There is no 'repair': what is declared symmetric, "
            f"psd or of one sign is made so{NEAR * (program.problem_class == 'convex')}. A point that still "
            "violates a constraint is refused."
        )
        return (first,), (after,)
    names = [part for name in dict.fromkeys(a.name for a in program.repair) for part in (", ", name_of(name))]
    return (
        (
            "A solver's point is only nearly feasible. The repair changes ",
            *names[1:],
            ", in the order above.",
        ),
        (after,),
    )


def about_words(checked: Checked) -> Sentence:
    """The description in the program's section ``about``."""
    return prose(checked.written.about, checked.scope)[0]


def bound_facts(checked: Checked) -> BoundFacts:
    """The bound, its meaning and its proof."""
    program = checked.written
    is_claim = bool(program.certificate or program.bound) and not is_shipped(checked)
    _, scope = prose(program.about, checked.scope)  # names of the words above are known in the proof
    return BoundFacts(*_bound(checked), prose(program.proof, scope)[0], is_claim)


def _bound(checked: Checked) -> tuple[Formula | None, tuple[Sentence, ...]]:
    """The formula of a program's own bound (None without one), and sentences on what bounds the optimum."""
    program, certificate = checked.program, checked.program.certificate
    if certificate is None:
        words = (
            "No bound is stated. The objective is the value reached; how far it is from the optimum is "
            "not known."
        )
        if program.bound and program.bound in solved_programs(program.steps):
            words = f"The lower bound of {program.bound}, which a step solves, holds for the result too."
        elif program.bound:
            words = (
                f"The lower bound of {program.bound} holds: it is a bound on total error over all "
                "strategies, so also over those that this program can return."
            )
        elif program.problem_class == "convex":
            words = (
                "No bound is stated. A solve derives one from the objective and constraints: any "
                "multipliers, from any source, prove a bound."
            )
        return None, ((words,),)
    formula = formula_of(certificate.expr, checked.scope)
    feasible = "at most" if program.sense == "minimize" else "at least"
    holds = f"this number is {feasible} the objective of every feasible point"
    worse, better = ("objective", "bound") if program.sense == "minimize" else ("bound", "objective")
    ratio = f"{worse} − {better}" if checked.is_logarithmic else f"{worse} / {better} − 1"
    return formula, (
        (
            "For all ",
            _quantified(certificate),
            f" where it is defined, {holds}. So any multipliers, from any source, prove a bound on the "
            "optimum.",
        )
        if certificate.multipliers
        else (f"Whatever the variables are, {holds}.",),
        *(_multiplier(m, checked) for m in certificate.multipliers),
        (
            "Negative entries of multipliers declared ≥ 0, and negative eigenvalues of those declared psd, "
            "are first set to zero. Objective and bound are both rounded in the safe direction, "
            f"so the gap, {ratio}, holds in floating point.",
        ),
    )


def _quantified(certificate: Certificate) -> Formula:
    """The multipliers with the sign that each must have: ``p ≥ 0, A ⪰ 0, Y``."""
    names = []
    for d in (m.declaration for m in certificate.multipliers):
        sign = (" ⪰ 0", r" \succeq 0") if d.kind == "psd" else (" ≥ 0", r" \ge 0") if d.sign else ("", "")
        names.append((plain_name(d.name) + sign[0], latex_name(d.name) + sign[1]))
    return Formula(*map(", ".join, zip(*names, strict=True)))


def _multiplier(m: Multiplier, checked: Checked) -> Sentence:
    """A multiplier's size, and the origin of its first value."""
    d = m.declaration
    size = ("a number", "a vector of length {0}", "a matrix {0} × {1}")[len(d.dims)].format(*d.dims)
    name = name_of(d.name)
    if m.start is not None:
        point = "the steps" if checked.program.steps else "the solver's point"
        return (name, f", {size}, starts from {point}: ", formula_of(m.start, checked.scope), ".")
    if not m.dual_of:
        return (name, f", {size}, has no start.")
    block = "" if m.block is None else f", of its diagonal block {m.block + 1}"
    return (name, f", {size}, starts from the solver's multiplier of '{m.dual_of}'{block}.")
