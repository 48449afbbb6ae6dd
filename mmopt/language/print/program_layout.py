"""A whole program in print: its sections as labelled lines, in LaTeX or plain text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, assert_never

from mmopt.language.atoms.argument_types import Curvature
from mmopt.language.check.infer_types import Scope
from mmopt.language.check.names_and_givens import declared_type
from mmopt.language.check.whole_program import Checked, check
from mmopt.language.print.prose_formulas import Sentence, prose
from mmopt.language.print.typeset import (
    STYLES,
    Style,
    latex_name,
    latex_text,
    plain_name,
    print_expr,
    print_relation,
)
from mmopt.language.syntax.neighbourhood import Neighbourhood
from mmopt.language.syntax.program import Program
from mmopt.language.syntax.syntax_tree import (
    Assignment,
    Certificate,
    Constraint,
    Declaration,
    Repeat,
    Start,
    Step,
    SubProgram,
)

__all__ = ["program_lines", "typeset_latex"]


class _Line(NamedTuple):
    """A label (of the first line of a section), a formula, and words beside it."""

    label: str
    formula: str
    words: str = ""


def typeset_latex(program: Program | Checked) -> str:
    """The program as an ``aligned`` block, to stand in math mode.

    Raises :class:`~mmopt.errors.ProgramError` when the program does not check.
    """
    lines = []
    for name, formula, pieces in program_lines(program, "latex"):
        label = rf"\text{{{latex_text(name)}}}" if name else ""
        words = "".join(rf"\text{{{latex_text(p)}}}" if isinstance(p, str) else p.latex for p in pieces)
        lines.append(rf"{label}\quad & {formula}" + (f" && {words}" if words else ""))
    return "\\begin{aligned}\n" + " \\\\\n".join(lines) + "\n\\end{aligned}"


def program_lines(program: Program | Checked, style: Style) -> Sequence[tuple[str, str, Sentence]]:
    """Every line as (label of the first line of a section, formula, words beside it).

    Raises :class:`~mmopt.errors.ProgramError` when the program does not check.
    """
    checked = program if isinstance(program, Checked) else check(program)
    sections = _Writer(checked.scope, style).sections(checked.written)
    return [
        ("" if i else name, line.formula, prose(line.words, checked.scope)[0])
        for name, lines in sections
        for i, line in enumerate(lines)
    ]


@dataclass(frozen=True)
class _Writer:
    scope: Scope
    style: Style

    @property
    def form(self) -> Mapping[str, str]:
        return STYLES[self.style]

    def name(self, name: str) -> str:
        return latex_name(name) if self.style == "latex" else plain_name(name)

    def words(self, words: str) -> str:
        """Words inside a formula."""
        return rf"\text{{{latex_text(words)}}}" if self.style == "latex" else words

    def sections(self, p: Program) -> Iterator[tuple[str, list[_Line]]]:
        yield "given", [self.declaration(d) for d in p.givens]
        yield "parameter", [self.assignment(a, "=") for a in p.parameters]
        yield "let", [self.assignment(a, "=") for a in p.lets]
        yield "require", [self.constraint(c) for c in p.requires]
        yield "choose", [self.declaration(d) for d in p.choose]
        yield "steps", [line for s in p.steps for line in self.step(s)]
        yield p.sense, [_Line("", print_expr(p.objective, self.scope, self.style))]
        yield "subject to", [self.constraint(c) for c in p.constraints]
        yield "start", [line for s in p.starts for line in self.start(s)]
        yield "repair", [self.assignment(a, self.form["set"]) for a in p.repair]
        if p.value is not None:
            yield "value", [_Line("", print_expr(p.value, self.scope, self.style))]
        if p.meaning.kind != "none":
            is_strategy = p.meaning.kind == "strategy"
            on = f"norm {p.meaning.norm}" if is_strategy else f"of the noise on `{p.meaning.basis} @ x`"
            yield p.meaning.kind, [_Line("", print_expr(p.meaning.expr, self.scope, self.style), on)]
        if p.neighbours is not None:
            yield "neighbours", [_Line("", self.neighbours(p.neighbours))]
        if p.adoption is not None:
            adopted = p.adoption.strategy
            known = self.scope.with_types(**{adopted.name: declared_type(adopted, Curvature.CONSTANT)})
            inside = replace(self, scope=replace(known, dims=known.dims | adopted.dims[0].symbols))
            lines = [inside.assignment(a, "=") for a in p.adoption.values]
            yield f"from strategy {self.name(adopted.name)}", lines
        if p.certificate is not None:
            yield "bound", [self.certificate(p.certificate)]
        elif p.bound:
            yield "bound", [_Line("", self.words(f"that of {p.bound}"))]

    def declaration(self, d: Declaration) -> _Line:
        name, latex = self.name(d.name), self.style == "latex"
        dims = [str(dim) if not latex else str(dim).replace("*", r"\,") for dim in d.dims]
        positive = {"": "", ">=": r"_{\ge 0}" if latex else " ≥ 0", ">": "_{> 0}" if latex else " > 0"}[
            d.sign
        ]
        if latex:
            size = r" \times ".join(dims)
            space = rf"\mathbb R{positive}" + (f"^{{{size}}}" if dims else "")
            space = {"psd": rf"\mathbb S_+^{{{dims[0] if dims else ''}}}"}.get(d.kind, space)
            space = {"symmetric": rf"\mathbb S^{{{dims[0] if dims else ''}}}"}.get(d.kind, space)
            return _Line("", rf"{name} \in {space}", d.doc)
        kind = {"psd": " ⪰ 0", "symmetric": f" = {name}ᵀ"}.get(d.kind, "")
        size = {0: "a number", 1: "a vector of length {0}", 2: "a matrix {0} × {1}"}[len(dims)].format(*dims)
        return _Line("", f"{name}{kind}{positive}, {size}", d.doc)

    def assignment(self, a: Assignment, sign: str) -> _Line:
        return _Line("", f"{self.name(a.name)} {sign} {print_expr(a.expr, self.scope, self.style)}")

    def step(self, s: Step, depth: int = 0) -> Iterator[_Line]:
        """One line, or those of a block, indented."""
        indent = self.form["indent"] * depth
        if not isinstance(s, Repeat):
            line = self.assignment(s, self.form["set"]) if isinstance(s, Assignment) else self.solve(s)
            yield line._replace(formula=indent + line.formula)
            return
        times = print_expr(s.times, self.scope, self.style)
        word, space = "alternate" if s.settles else "repeat", self.form["space"]
        head = f"{indent}{self.words(word)}{space}{times}{space}{self.words('times')}"
        if s.until is not None:
            head += f"{space}{self.words('or until')}{space}{print_relation(s.until, self.scope, self.style)}"
        yield _Line("", head)
        for inner in s.steps:
            yield from self.step(inner, depth + 1)

    def start(self, s: Start) -> Iterator[_Line]:
        if not s.values:
            yield _Line("", self.words("entries drawn at random"), s.name)
        for a in s.values:
            yield self.assignment(a, "=")._replace(words=s.name)

    def solve(self, s: SubProgram) -> _Line:
        arguments = [f"{self.name(n)} = {print_expr(e, self.scope, self.style)}" for n, e in s.arguments]
        inside = "; ".join([self.words(s.program), *arguments])
        return _Line("", f"{self.name(s.name)} {self.form['set']} {self.words('solve')}({inside})")

    def constraint(self, c: Constraint) -> _Line:
        scope, every = self.scope.inside(c.family), ""
        if c.family:
            indices = self.form["in"].format(self.name(c.family.index), c.family.dim)
            every = self.form["every"].format(indices)
        words = "" if c.name.startswith("constraint_") else c.name
        return _Line("", print_relation(c.relation, scope, self.style) + every, words)

    def neighbours(self, set_: Neighbourhood) -> str:
        """In words: what one table may have beside the other."""
        numbers = [print_expr(e, self.scope, self.style) for e in set_.numbers]
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
        written = [piece if i % 2 else self.words(piece) for i, piece in enumerate(pieces)]
        return self.form["space"].join(written)

    def certificate(self, c: Certificate) -> _Line:
        signs = {"": "", ">=": self.form["not negative"], ">": self.form["positive"]}
        every = ", ".join(
            self.name(d.name) + (self.form["psd"] if d.kind == "psd" else signs[d.sign])
            for d in (m.declaration for m in c.multipliers)
        )
        bound = print_expr(c.expr, self.scope, self.style)
        return _Line("", bound + (self.form["every"].format(every) if every else ""))
