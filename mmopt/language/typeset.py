"""Programs in print, in LaTeX and plain text: expressions, prose, and a whole program as labelled lines.

Expressions, names and numbers are printed by one visitor over the tree, with the forms of the table of atoms.
Print follows paper where the language follows numpy: a vector is a column, so ``c @ q`` is printed
with the transpose that it means, ``*`` as a circle between arrays and as a plain product with a number.

The words of a program (``about``, ``proof`` and texts in quotes) may have mathematics between backticks: an
expression of the language, or several with relations between them, ``X = A.T @ A``, ``a <= b = c``. A power
may also be written ``D^(1/2)``. Besides the names of the program, words may use other names, as on paper: of
one letter, perhaps with a subscript, and Greek ones; a name that is set equal to an expression has its shape
from then on. Text that cannot be read so is no mathematics and is left unchanged, with its backticks.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, assert_never

from mmopt.errors import ProgramError
from mmopt.language.atoms.atom import PrintedForm
from mmopt.language.atoms.expression_types import Curvature, Type
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.check.infer_types import Scope, infer
from mmopt.language.check.names_and_relations import declared_type
from mmopt.language.check.whole_program import Checked, check
from mmopt.language.syntax.exact_rewriting import number_of
from mmopt.language.syntax.parse_and_write_expressions import number_text, parse_expr
from mmopt.language.syntax.program import Neighbourhood, Program
from mmopt.language.syntax.source_text import RELATIONS, Source, Text
from mmopt.language.syntax.syntax_tree import (
    Apply,
    Assignment,
    Block,
    Certificate,
    Constraint,
    Declaration,
    Entries,
    Expr,
    Index,
    Name,
    Number,
    Relation,
    Repeat,
    Start,
    Step,
    SubProgram,
    transpose,
    walk,
)
from mmopt.limits import require_time

Style = Literal["latex", "plain"]

_LETTERS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Upsilon Phi Psi Omega"
)
GREEK = dict(zip(_LETTERS.split(), "αβγδεζηθικμνξπρστυφχψωΓΔΘΛΞΠΣΥΦΨΩ", strict=True))
RAISED = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
ESCAPES = {
    "\\": r"\textbackslash{}",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    **{char: "\\" + char for char in "#$%&_{}"},
}

ENCLOSED = 9
POSTFIX = 8
SUMMAND = 2
PRODUCT = {
    "latex": (PrintedForm(r"{0}\,{1}", 3), PrintedForm(r"{0} \cdot {1}", 3)),
    "plain": (PrintedForm("{0} {1}", 3), PrintedForm("{0} · {1}", 3)),
}
# How each style writes everything but atoms.
STYLES: Mapping[Style, Mapping[str, str]] = {
    "latex": {
        "brackets": r"\left({0}\right)",
        "along": r"{0}_{{\text{{{1}}}}}\left({2}\right)",
        "index": "{0}_{{{1}}}",
        "comma": ",",
        "block": r"\begin{{bmatrix}} {0} \end{{bmatrix}}",
        "entry": " & ",
        "row": r" \\ ",
        "every": r" \quad \forall {0}",
        "in": r"{0} \in [{1}]",
        "sum": r"\sum_{{{1}}} {0}",
        "entries": r"\left({0}\right)_{{{1}}}",
        "set": r"\leftarrow",
        "indent": r"\quad ",
        "space": r"\ ",
        "not negative": r" \ge 0",
        "positive": " > 0",
        "psd": r" \succeq 0",
    },
    "plain": {
        "brackets": "({0})",
        "along": "{1}-{0}({2})",
        "index": "{0}[{1}]",
        "comma": ", ",
        "block": "[{0}]",
        "entry": ", ",
        "row": "; ",
        "every": "   ∀ {0}",
        "in": "{0} ∈ [{1}]",
        "sum": "Σ({1}) {0}",
        "entries": "({0}: {1})",
        "set": "←",
        "indent": "    ",
        "space": " ",
        "not negative": " ≥ 0",
        "positive": " > 0",
        "psd": " ⪰ 0",
    },
}
RELATION_SYMBOLS = {
    "latex": {"<=": r"\le", ">=": r"\ge", "==": "=", ">>": r"\succeq", "<<": r"\preceq"}
    | {"<": "<", ">": ">", "!=": r"\ne"},
    "plain": {"<=": "≤", ">=": "≥", "==": "=", ">>": "⪰", "<<": "⪯"} | {"<": "<", ">": ">", "!=": "≠"},
}
# Associative: three of them may be grouped either way.
ASSOCIATIVE = {"add": ("add", "sub"), "matmul": ("matmul",)}


def print_expr(expr: Expr, scope: Scope, style: Style, inline: bool = False) -> str:
    """The expression in LaTeX (math mode) or plain Unicode text.

    ``inline``: it is part of a line of words, so fractions are slanted; it may have names that the scope
    lacks, and a product with such a name is written like one with a number.
    """
    return _Printer(scope, style, inline).write(expr)[0]


def print_relation(relation: Relation, scope: Scope, style: Style) -> str:
    """``left ≤ right``."""
    left, right, every = relation.left, relation.right, ""
    if isinstance(left, Entries) and isinstance(right, Entries):
        every = STYLES[style]["every"].format(_Printer(scope, style).clause(left))
        scope, left, right = scope.among(left), left.body, right.body
    one, other = (print_expr(e, scope, style) for e in (left, right))
    return f"{one} {RELATION_SYMBOLS[style][relation.op]} {other}{every}"


@dataclass(frozen=True)
class _Printer:
    """The visitor that prints expressions; most methods give a text and how strongly it holds together."""

    scope: Scope
    style: Style
    inline: bool = False

    @property
    def latex(self) -> bool:
        return self.style == "latex"

    def styled(self, what: str, *parts: object) -> str:
        """Anything but an atom, as the style writes it (``STYLES``)."""
        return STYLES[self.style][what].format(*parts)

    def name(self, name: str) -> str:
        """A name in this style."""
        return latex_name(name) if self.latex else plain_name(name)

    def type_of(self, expr: Expr) -> Type | None:
        """The type, or nothing where a name has another meaning by now (in the steps of a procedure)."""
        try:
            return infer(expr, self.scope)
        except ProgramError:
            return None

    def write(self, expr: Expr) -> tuple[str, int]:
        """The text and how strongly it holds together."""
        match expr:
            case Number(value=value):
                return self.number(number_text(value))
            case Name(id=name):
                return self.name(name), ENCLOSED
            case Index():
                return self.index(expr)
            case Block(rows=rows):
                return self.block(rows)
            case Apply(atom="pow", args=(base, exponent)):
                return self.power(base, exponent)
            case Apply(atom="matmul", args=(left, right)):
                return self.infix(self.form("matmul"), "matmul", *self.oriented(left, right))
            case Apply(atom="mul", args=(left, right)):
                written = self.write(left), self.write(right)
                return self.infix(self.product(left, right, written[1][0]), "mul", left, right, written)
            case Entries(body=body):
                text = self.within(expr).write(body)[0]
                return self.styled("entries", text, self.clause(expr)), ENCLOSED
            case Apply(atom="sum", args=(Entries(body=body) as entries,)):
                text = self.within(entries).bracketed(body, SUMMAND)
                return self.styled("sum", text, self.clause(entries)), SUMMAND
            case Apply(atom="sum" | "max" | "min", args=(inner,), options=(("axis", axis),)):
                return self.along(expr.atom, inner, axis)
            case Apply():
                return self.atom(expr)

    def number(self, text: str) -> tuple[str, int]:
        """A number as text; in LaTeX ``1e-09`` is a power of ten."""
        digits, e, power = text.partition("e")
        if not (self.latex and e):
            return text, POSTFIX if e else ENCLOSED
        times = PRODUCT["latex"][True]
        raised = f"10^{{{int(power)}}}"
        return (raised, POSTFIX) if digits == "1" else (times.text.format(digits, raised), times.binds)

    def within(self, entries: Entries) -> "_Printer":
        """The printer for the inside of the clauses of entries."""
        return replace(self, scope=self.scope.among(entries))

    def clause(self, entries: Entries) -> str:
        """``i, j ∈ [n]: |i - j| ≥ b``."""
        runs: dict[str, list[str]] = {}
        for f in entries.families:
            runs.setdefault(str(f.dim), []).append(latex_name(f.index) if self.latex else f.index)
        ranges = ", ".join(self.styled("in", ", ".join(names), dim) for dim, names in runs.items())
        inner = self.scope.among(entries)
        return ": ".join([ranges, *(print_relation(r, inner, self.style) for r in entries.where)])

    def atom(self, expr: Apply) -> tuple[str, int]:
        """An atom in its form of the table."""
        form, args = self.form(expr.atom), expr.args
        if len(args) == 2 and form.text.startswith("{0}"):
            return self.infix(form, expr.atom, *args)
        is_affix = len(args) == 1 and (form.text.startswith("{0}") or form.text.endswith("{0}"))
        needed = form.binds + 1 if is_affix else 0
        return form.text.format(*(self.bracketed(a, needed) for a in args)), form.binds

    def form(self, atom: str) -> PrintedForm:
        """The form of an atom in this style; in a line of words a quotient is slanted."""
        slanted = self.inline and atom == "div"
        return ATOMS[atom].latex if self.latex and not slanted else ATOMS[atom].plain

    def bracketed(self, expr: Expr, needed: int) -> str:
        """The text, in brackets when it does not hold together strongly enough."""
        return self.enclosed(self.write(expr), needed)

    def enclosed(self, written: tuple[str, int], needed: int) -> str:
        """The text that ``write`` gave, in brackets when it does not hold together strongly enough."""
        return written[0] if written[1] >= needed else self.styled("brackets", written[0])

    def infix(
        self,
        form: PrintedForm,
        atom: str,
        left: Expr,
        right: Expr,
        written: tuple[tuple[str, int], tuple[str, int]] | None = None,
    ) -> tuple[str, int]:
        """Two operands with an operator between them; ``written``: what ``write`` gave for them."""
        one, other = written or (
            self.write(left),
            self.write(right),
        )  # never twice: they may be nested deeply
        is_chain = isinstance(right, Apply) and right.atom in ASSOCIATIVE.get(atom, ())
        # Below a slanted line only a bare name needs no brackets.
        needed = POSTFIX if atom == "div" else form.binds + (not is_chain)
        return form.text.format(self.enclosed(one, form.binds), self.enclosed(other, needed)), form.binds

    def product(self, left: Expr, right: Expr, written: str) -> PrintedForm:
        """The form of ``*``: a circle between arrays, a plain product with a number; the right as written."""
        types = self.type_of(left), self.type_of(right)
        has_number = any(self.inline if t is None else t.is_scalar for t in types)
        return PRODUCT[self.style][written[:1].isdigit()] if has_number else self.form("mul")

    def oriented(self, left: Expr, right: Expr) -> tuple[Expr, Expr]:
        """Both sides of ``@`` with the transposes that numpy leaves out."""
        a, b = self.type_of(left), self.type_of(right)
        is_column, is_row = a and a.is_vector and not a.is_row, b and b.is_vector and b.is_row
        return transpose(left) if is_column else left, transpose(right) if is_row else right

    def power(self, base: Expr, exponent: Expr) -> tuple[str, int]:
        """A power; in plain text numbers are raised."""
        below, ratio = self.bracketed(base, ENCLOSED), _ratio(exponent)
        if self.latex:
            circle = r"\circ " if self.is_by_entry(base) else ""
            return self.form("pow").text.format(below, circle + (ratio or self.write(exponent)[0])), POSTFIX
        if ratio:
            return below + ("^½" if ratio == "1/2" else f"^({ratio.replace('-', '−')})"), POSTFIX
        match exponent:
            case Number(value=value):
                return below + superscript(value), POSTFIX
            case Apply(atom="neg", args=(Number(value=value),)):
                return below + superscript(-value), POSTFIX
        return f"{below}^{self.bracketed(exponent, ENCLOSED)}", POSTFIX

    def is_by_entry(self, base: Expr) -> bool:
        """Whether a power is marked as one of each entry: in words one of a matrix is meant as it is read."""
        type_ = None if self.inline else self.type_of(base)
        return type_ is not None and type_.is_matrix

    def along(self, atom: str, inner: Expr, axis: int) -> tuple[str, int]:
        """An atom with an axis: one number per column (axis 0) or per row (axis 1)."""
        operator = r"\operatorname{sum}" if atom == "sum" else rf"\{atom}"
        per = "row" if axis else "column"
        return self.styled("along", operator if self.latex else atom, per, self.write(inner)[0]), ENCLOSED

    def index(self, expr: Index) -> tuple[str, int]:
        """Entries of an array: in LaTeX below its name."""
        items = [":" if i is None else _ratio(i) or self.write(i)[0] for i in expr.items]
        base = self.bracketed(expr.base, ENCLOSED)
        base = f"{{{base}}}" if self.latex and "_" in base else base
        return self.styled("index", base, STYLES[self.style]["comma"].join(items)), ENCLOSED

    def block(self, rows: tuple[tuple[Expr, ...], ...]) -> tuple[str, int]:
        """A block matrix."""
        entry, row_end = STYLES[self.style]["entry"], STYLES[self.style]["row"]
        lines = row_end.join(entry.join(self.write(e)[0] for e in row) for row in rows)
        return self.styled("block", lines), ENCLOSED


def _ratio(expr: Expr) -> str:
    """A fraction of two numbers as in an exponent or below a name, ``-1/2``; else nothing."""
    sides = list(map(number_of, expr.args)) if isinstance(expr, Apply) and expr.atom == "div" else []
    numbers = [number_text(float(side)) for side in sides if side is not None]
    return "/".join(numbers) if len(numbers) == 2 else ""


def _parts(name: str) -> tuple[str, str]:
    """A name and its subscript: ``alpha_1`` and ``x1`` have one, ``step.strategy`` has none."""
    match = re.fullmatch(r"([^\W\d_]+)_?(\w*)", name)
    return (match.group(1), match.group(2)) if match else (name, "")


def plain_name(name: str) -> str:
    """A name in plain text, with a Greek letter for its first word."""
    word, _ = _parts(name)
    return GREEK[word] + name[len(word) :] if word in GREEK else name


def latex_name(name: str) -> str:
    """A name in LaTeX: letters in italics, words upright, the part after ``_`` (or digits) as a subscript."""
    word, below = _parts(name)
    written = f"\\{word}" if word in GREEK else _upright(word)
    return f"{written}_{{{latex_name(below)}}}" if below else written


def _upright(word: str) -> str:
    """A word in LaTeX: upright, unless it is a letter or a number."""
    return word if len(word) == 1 or word.isdigit() else "\\mathrm{" + latex_text(word) + "}"


def latex_text(text: str) -> str:
    """Words inside ``\\text{…}``."""
    return "".join(ESCAPES.get(char, char) for char in text)


def superscript(value: float) -> str:
    """A number raised, in plain text."""
    return (
        number_text(value).translate(RAISED)
        if value == int(value)
        else {0.5: "^½", 1.5: "^(3/2)"}.get(value, f"^({number_text(value)})")
    )


_QUOTED = re.compile(r"`([^`\s](?:[^`]*[^`\s])?)`")
_LOCAL = re.compile(rf"(?:[^\W\d_]|{'|'.join(GREEK)})(?:\d*|_\w+)")


@dataclass(frozen=True)
class Formula:
    """A formula in plain Unicode text and in LaTeX (math mode)."""

    plain: str
    latex: str


# Words with formulas between them.
Sentence = tuple[str | Formula, ...]


def prose(text: str, scope: Scope) -> tuple[Sentence, Scope]:
    """The words with their formulas, line ends kept; and the scope with the names that they define."""
    pieces: list[str | Formula] = []
    at = start = 0
    while quoted := _QUOTED.search(text, start):
        sides = _sides(quoted[1], scope)
        start = quoted.end()
        if sides is None:
            start -= 1  # a backtick that closes no formula may open one
            continue
        pieces += [text[at : quoted.start()], *_chain(sides, scope)]
        at = start
        scope = _defined(sides, scope)
    return tuple(piece for piece in (*pieces, text[at:]) if piece), scope


def plain_words(words: Sentence) -> str:
    """A sentence in plain Unicode text."""
    return "".join(piece if isinstance(piece, str) else piece.plain for piece in words)


# The relation before it ("" before the first), and a side.
_Side = tuple[str, Expr]


def _sides(quoted: str, scope: Scope) -> list[_Side] | None:
    """The sides of a formula; None where the text is none, or has names or arguments that it may not have."""
    whole = quoted.replace("^", "**")
    text = Text(Source("", tuple(whole.split("\n"))), whole, 1, 1)
    try:
        relations = [t for t in text.outer if t.text in RELATIONS]
        words, starts = ["", *(t.text for t in relations)], [0, *(t.end for t in relations)]
        parts = map(text.cut, starts, [*(t.start for t in relations), len(whole)])
        sides = list(zip(words, map(parse_expr, parts), strict=True))
    except ProgramError:
        return None
    nodes = [node for _, side in sides for node in walk(side)]
    is_whole = all(len(n.args) == ATOMS[n.atom].arity for n in nodes if isinstance(n, Apply))
    new = {n.id for n in nodes if isinstance(n, Name)} - {*scope.types, *scope.dims}
    return sides if is_whole and all(map(_LOCAL.fullmatch, new)) else None


def _chain(sides: list[_Side], scope: Scope) -> Iterator[str | Formula]:
    """A formula for each side with the relation before it: between them a line may end."""
    for relation, side in sides:
        plain, latex = (print_expr(side, scope, style, inline=True) for style in ("plain", "latex"))
        if relation:
            yield " "
            symbol = "==" if relation == "=" else relation
            plain, latex = (
                f"{RELATION_SYMBOLS['plain'][symbol]} {plain}",
                f"{RELATION_SYMBOLS['latex'][symbol]} {latex}",
            )
        yield Formula(plain, latex)


def _defined(sides: list[_Side], scope: Scope) -> Scope:
    """The scope with a new name that equals an expression of defined names."""
    match sides:
        case [("", Name(id=name)), ("=", value), *_] if name not in {*scope.types, *scope.dims}:
            with suppress(ProgramError):
                return scope.with_types(**{name: infer(value, scope)})
    return scope


class _Line(NamedTuple):
    """A formula, and words after it."""

    formula: str
    words: str = ""


def typeset_latex(program: Program | Checked) -> str:
    """The program as an ``aligned`` block, for math mode.

    Raises :class:`~mmopt.errors.ProgramError` when the program does not check.
    """
    lines = []
    for name, formula, pieces in program_lines(program, "latex"):
        label = rf"\text{{{latex_text(name)}}}" if name else ""
        words = "".join(rf"\text{{{latex_text(p)}}}" if isinstance(p, str) else p.latex for p in pieces)
        lines.append(rf"{label}\quad & {formula}" + (f" && {words}" if words else ""))
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def program_lines(program: Program | Checked, style: Style) -> Sequence[tuple[str, str, Sentence]]:
    """Every statement as (label of its section, if it is the first there, formula, words after it).

    Raises :class:`~mmopt.errors.ProgramError` when the program does not check.
    """
    checked = program if isinstance(program, Checked) else check(program)
    out = []
    for name, lines in _Writer(checked.scope, style).sections(checked.written):
        for i, line in enumerate(lines):
            require_time()
            out.append(("" if i else name, line.formula, prose(line.words, checked.scope)[0]))
    return out


class _Writer(_Printer):
    """The printer of the lines of a program."""

    def words(self, words: str) -> str:
        """Words inside a formula."""
        return rf"\text{{{latex_text(words)}}}" if self.latex else words

    def sections(self, p: Program) -> Iterator[tuple[str, list[_Line]]]:
        """The lines of each section, with its name."""
        yield "given", [self.declaration(d) for d in p.givens]
        yield "parameter", [self.assignment(a, "=") for a in p.parameters]
        yield "let", [self.assignment(a, "=") for a in p.lets]
        yield "require", [self.constraint(c) for c in p.requires]
        yield "choose", [self.declaration(d) for d in p.choose]
        yield "steps", [line for s in p.steps for line in self.step(s)]
        yield p.sense, [_Line(self.write(p.objective)[0])]
        yield "subject to", [self.constraint(c) for c in p.constraints]
        yield "start", [line for s in p.starts for line in self.start(s)]
        yield "search", [self.assignment(a, "=") for a in p.search]
        yield "repair", [self.assignment(a, self.styled("set")) for a in p.repair]
        if p.value is not None:
            yield "value", [_Line(self.write(p.value)[0])]
        if p.meaning.kind != "none":
            is_strategy = p.meaning.kind == "strategy"
            on = f"norm {p.meaning.norm}" if is_strategy else f"of the noise on `{p.meaning.basis} @ x`"
            yield p.meaning.kind, [_Line(self.write(p.meaning.expr)[0], on)]
        if p.neighbours is not None:
            yield "neighbours", [_Line(self.neighbours(p.neighbours))]
        if p.adoption is not None:
            adopted = p.adoption.strategy
            scope = self.scope.with_types(**{adopted.name: declared_type(adopted, Curvature.CONSTANT)})
            inside = replace(self, scope=replace(scope, dims=scope.dims | adopted.dims[0].symbols))
            lines = [inside.assignment(a, "=") for a in p.adoption.values]
            yield f"from strategy {self.name(adopted.name)}", lines
        if p.certificate is not None:
            yield "bound", [self.certificate(p.certificate)]
        elif p.bound:
            yield "bound", [_Line(self.words(f"that of {p.bound}"))]

    def declaration(self, d: Declaration) -> _Line:
        """A name with the set that it is from, or in plain text its kind and size in words."""
        name, latex = self.name(d.name), self.latex
        dims = [str(dim) if not latex else str(dim).replace("*", r"\,") for dim in d.dims]
        positive = {"": "", ">=": r"_{\ge 0}" if latex else " ≥ 0", ">": "_{> 0}" if latex else " > 0"}[
            d.sign
        ]
        if latex:
            size = r" \times ".join(dims)
            space = rf"\mathbb R{positive}" + (f"^{{{size}}}" if dims else "")
            if d.kind in ("psd", "symmetric"):
                space = rf"\mathbb S{'_+' * (d.kind == 'psd')}^{{{dims[0]}}}"
            return _Line(rf"{name} \in {space}", d.doc)
        kind = {"psd": " ⪰ 0", "symmetric": f" = {name}ᵀ"}.get(d.kind, "")
        size = {0: "a number", 1: "a vector of length {0}", 2: "a matrix {0} × {1}"}[len(dims)].format(*dims)
        return _Line(f"{name}{kind}{positive}, {size}", d.doc)

    def assignment(self, a: Assignment, sign: str) -> _Line:
        """A name, a sign (``=`` or an arrow), and an expression."""
        return _Line(f"{self.name(a.name)} {sign} {self.write(a.expr)[0]}")

    def step(self, s: Step, depth: int = 0) -> Iterator[_Line]:
        """One line, or those of a block, indented."""
        indent = self.styled("indent") * depth
        if not isinstance(s, Repeat):
            line = self.assignment(s, self.styled("set")) if isinstance(s, Assignment) else self.solve(s)
            yield line._replace(formula=indent + line.formula)
            return
        times = self.write(s.times)[0]
        word, space = "alternate" if s.settles else "repeat", self.styled("space")
        head = f"{indent}{self.words(word)}{space}{times}{space}{self.words('times')}"
        if s.until is not None:
            head += f"{space}{self.words('or until')}{space}{print_relation(s.until, self.scope, self.style)}"
        yield _Line(head)
        for inner in s.steps:
            yield from self.step(inner, depth + 1)

    def start(self, s: Start) -> Iterator[_Line]:
        """A line for each value of a start."""
        if not s.values:
            yield _Line(self.words("entries drawn at random"), s.name)
        for a in s.values:
            yield self.assignment(a, "=")._replace(words=s.name)

    def solve(self, s: SubProgram) -> _Line:
        """A step that solves another program."""
        arguments = [f"{self.name(n)} = {self.write(e)[0]}" for n, e in s.arguments]
        inside = "; ".join([self.words(s.program), *arguments])
        return _Line(f"{self.name(s.name)} {self.styled('set')} {self.words('solve')}({inside})")

    def constraint(self, c: Constraint) -> _Line:
        """A relation, for every index of its family, with its name if the program gives it one."""
        scope, every = self.scope.inside(c.family), ""
        if c.family:
            every = self.styled("every", self.styled("in", self.name(c.family.index), c.family.dim))
        return _Line(
            print_relation(c.relation, scope, self.style) + every,
            "" if c.name.startswith("constraint_") else c.name,
        )

    def neighbours(self, set_: Neighbourhood) -> str:
        """The neighbours in words: how one table may differ from the other."""
        numbers = [self.write(e)[0] for e in set_.numbers]
        pieces: tuple[str, ...]
        match set_.kind:
            case "add-remove":
                pieces = ("one row added or removed",)
            case "replace-one":
                pieces = ("one row replaced",)
            case "rows":
                pieces = ("up to", *numbers, "rows of one person, added or removed")
            case "participation":
                b, k = numbers
                most = "the rows of one person: one in a step, added or removed, in at most"
                pieces = (most, k, "steps, any two at least", b, "apart")
            case _:
                assert_never(set_.kind)
        return self.styled("space").join(
            [piece if i % 2 else self.words(piece) for i, piece in enumerate(pieces)]
        )

    def certificate(self, c: Certificate) -> _Line:
        """The bound, for every multiplier of its sign."""
        signs = {"": "", ">=": self.styled("not negative"), ">": self.styled("positive")}
        every = ", ".join(
            self.name(d.name) + (self.styled("psd") if d.kind == "psd" else signs[d.sign])
            for d in (m.declaration for m in c.multipliers)
        )
        return _Line(self.write(c.expr)[0] + (self.styled("every", every) if every else ""))
