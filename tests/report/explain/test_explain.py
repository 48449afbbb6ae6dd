"""Explanations of programs: what is said is what is checked, compiled and handed over.

Guards compiled_and_solved_facts.py, explained_facts.py, explanation_sections.py and
explanation_text_and_latex.py.
"""

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from named_workloads import named, with_targets

import mmopt
from mmopt import Explanation, Program, Solution, Workload, explain
from mmopt.compiler import bind, cones, lower, scale, variables
from mmopt.errors import OptionError, ProgramError, ResultError
from mmopt.language import check, program_names
from mmopt.numerics.arrays import rounded
from mmopt.report.explain.compiled_and_solved_facts import MOST_BLOCKS
from mmopt.report.explain.explained_facts import Compiled, NodeFacts, SolvedLine

BAD = """program bad
title "100% of a_mistake & {more}"
given
    W: matrix[m, n] = workload.matrix   "rows #1 to $m"
choose
    X: psd[n, n]
    u: vector[n] >= 0
minimize
    trace(W @ inv(X) @ W.T) - sum(u**2)
subject to
    sensitivity: diag(X) <= 1
strategy
    factor(X) norm 2
"""
CONVEX = [name for name in program_names() if Program.load(name).problem_class == "convex"]


@pytest.fixture(scope="module")
def workload() -> Workload:
    return named("prefix")


@pytest.fixture(scope="module")
def solutions(workload: Workload) -> dict[str, Solution]:
    names = ("fitness_for_use", "l2_strategy_lmi", "eigen_design")
    return {name: mmopt.solve(workload, name) for name in names}


def compiled(e: Explanation) -> Compiled:
    assert e.compiled is not None
    return e.compiled


class Page(HTMLParser):
    """Reads a page: every element closed, none that loads anything."""

    VOID = ("meta", "br", "hr", "mspace")

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {name for name, _ in attrs} & {"src", "href", "onclick", "action"}
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read_page(text: str) -> Page:
    page = Page()
    page.feed(text)
    page.close()
    assert not page.open
    assert not page.seen & {"script", "link", "img", "iframe"}
    assert "http" not in text and "@import" not in text and "url(" not in text
    for formula in re.findall(r"<math.*?</math>", text):
        ET.fromstring(formula)
    return page


# What pdflatex took when it was tried on the documents of all shipped programs, with and without a workload.
COMMANDS = frozenset(
    re.findall(
        r"\w+",
        """
    IfFileExists Delta Omega Rightarrow Sigma Theta alpha approx arraybackslash arraystretch begin beta
    cdot circ delta det dfrac displaystyle documentclass dots end endhead ensuremath epsilon exp forall
    gamma ge hline hspace in infty lambda le left leftarrow linewidth log mathbb mathbf mathrm mathsf
    max medskip min mu noalign operatorname parindent parskip phi pi preceq quad raggedleft raggedright
    renewcommand rho right section setlength sigma smallskip sqrt subsection subsubsection succeq sum
    tau text textasciicircum textasciigrave textbackslash textbf textcolor textit texttt theta times
    usepackage
""",
    )
)


def read_latex(text: str) -> None:
    """Read a formula as LaTeX does: commands that exist, braces, environments and brackets that grow in
    pairs, rows with as many cells as their table has columns, nothing special left raw, every formula
    closed in its
    own line.
    """
    assert set(re.findall(r"\\([A-Za-z]+)", text.replace(r"\\", " "))) <= COMMANDS
    for formula in re.findall(r"(?<!\\)\$(.*?)(?<!\\)\$|\\\[(.*?)\\\]", text):
        written = "".join(formula)
        assert len(re.findall(r"\\left(?![a-z])", written)) == len(re.findall(r"\\right(?![a-z])", written))
    for columns, body in re.findall(
        r"\\begin\{longtable\}\[l\]\{([^\n]*)\}\n(.*?)\\end\{longtable\}", text, re.DOTALL
    ):
        for row in body.strip().split("\n"):
            outside = re.sub(r"\$.*?\$|\\&", "", row)
            assert outside.count("&") == columns.count("linewidth") - 1, row
    assert text.isascii() or not re.search(r"[^\x00-\u017f]", text)
    depth = 0
    for char in re.sub(r"\\.", "", text):
        depth += (char == "{") - (char == "}")
        assert depth >= 0
    assert depth == 0
    stack: list[str] = []
    for kind, name in re.findall(r"\\(begin|end)\{(\w+)\}", text):
        if kind == "begin":
            stack.append(name)
        else:
            assert stack.pop() == name
    assert not stack
    words = re.sub(r"\\[#$%&_{}]", "", text)
    words = re.sub(r"\$[^$]*\$|\\\[.*?\\\]|\\ensuremath\{[^}]*\}|\\begin\{longtable\}.*", "", words)
    body = words.partition(r"\begin{document}")[2]
    assert not re.search(r"[#$%^_]", body), re.findall(r".{20}[#$%^_].{20}", body)
    for line in text.splitlines():
        assert len(re.findall(r"(?<!\\)\$", line)) % 2 == 0, line


@pytest.mark.some(1)
@pytest.mark.parametrize("part", range(10))
def test_every_program_in_every_format(part: int, workload: Workload, subtests: pytest.Subtests) -> None:
    """A tenth of the programs, alone and with a workload."""
    for name in program_names()[part::10]:
        for given in (None, workload):
            with subtests.test(name, with_numbers=given is not None):
                e = explain(name, given)
                page = read_page(e.html())
                assert {"math", "details"} <= page.seen or Program.load(name).problem_class == "procedure"
                read_page(e._repr_html_())
                read_latex(e.latex())
                for width in (80, 120):
                    text = e.text(width)
                    assert (written := e.file_text.rstrip()) in text
                    assert max(map(len, text.replace(written, "").splitlines())) <= width
                    assert e.title in " ".join(text.split())
                assert str(e) == e.text()
                assert json.loads(json.dumps(e.summary(), allow_nan=False))["name"] == name
                assert (e.compiled is not None) == (given is not None)


def test_solutions_in_every_format(workload: Workload, solutions: dict[str, Solution]) -> None:
    for name, solution in solutions.items():
        e = explain(name, workload, solution=solution)
        read_page(e.html())
        read_latex(e.latex())
        assert "At the solution" in e.text() and rounded(solution.objective, 10, up=True) in e.text()
        json.dumps(e.summary(), allow_nan=False)


def test_foreign_letters_of_a_formula_are_those_of_words() -> None:
    latex = explain(Program.parse(BAD.replace("given", "about\n    `Ж = W.T @ W` and `é`\ngiven", 1))).latex()
    assert r"$\text{[U+0416]}$ $= W^{\mathsf T}\,W$ and $\text{é}$" in latex
    read_latex(latex)


def test_texts_are_escaped() -> None:
    e = explain(Program.parse(BAD.replace("a_mistake", "<b>Ω ≤ ℵ</b>")))
    read_page(e.html())
    assert "&lt;b&gt;Ω ≤ ℵ&lt;/b&gt;" in e.html()
    latex = e.latex()
    assert r"100\% of <b>\ensuremath{\Omega} \ensuremath{\le} [U+2135]</b> \& \{more\}" in latex
    assert r"rows \#1 to \$m" in latex
    about = "about\n    `--given` is “no” `W @`, `W.T @ X^(1/2)` is.\n\n    [1] And so on: a >> b, ''.\ngiven"
    e = explain(Program.parse(BAD.replace("given", about, 1)))
    read_page(e.html())
    read_latex(e.latex())
    lines = e.latex().split("\n")
    ticks = r"\textasciigrave{}"
    assert (
        rf"{ticks}-{{}}-given{ticks} is ``no'' {ticks}W @{ticks}, $W^{{\mathsf T}}\,X^{{1/2}}$ is." in lines
    )
    assert r"[1] And so on: a >{}> b, '{}'." in lines
    assert (
        "<p>[1] And so on: a &gt;&gt; b, &#x27;&#x27;.</p>" in e.html()
        and "\n`--given` is “no” `W @`, Wᵀ X^½ is.\n" in e.text()
    )


def test_a_fragment_takes_the_colours_of_its_page() -> None:
    style = re.findall(r"<style>(.*?)</style>", explain("l2_strategy")._repr_html_(), re.DOTALL)[0]
    assert not re.search(r"[^-](color|background): *(#|rgb|white|black)", style)
    assert all(mixed.endswith("currentcolor)") for mixed in re.findall(r"color-mix\([^)]*#[^)]*\)", style))
    assert len(re.findall("#[0-9a-f]{6}", style)) == len(re.findall(r"color-mix\(in srgb, #", style)) > 0


def walk(node: NodeFacts) -> Iterator[NodeFacts]:
    yield node
    for part in node.parts:
        yield from walk(part)


def test_a_program_that_is_not_convex() -> None:
    e = explain(Program.parse(BAD, "bad.program"), Workload.from_matrix(np.eye(3)))
    objective = e.lines[0]
    assert objective.blamed is not None and e.lines[1].blamed is None
    assert str(objective.blamed.where) == "bad.program:9:5"
    nodes = list(walk(objective.sides[0]))
    assert [node.formula.plain for node in nodes if node.blamed] == ["tr(W X⁻¹ Wᵀ) − sum(u²)"]
    text = e.text()
    assert "<-- HERE: a sum of a convex and a concave part" in text
    caret = "    " + "^" * len("trace(W @ inv(X) @ W.T) - sum(u**2)")
    assert f"\n        trace(W @ inv(X) @ W.T) - sum(u**2)\n    {caret}\n" in text
    assert compiled(e).refusal == "Not compiled: 'minimize' cannot be handed to a convex solver"
    assert compiled(e).sizes is None and compiled(e).givens
    assert '<li class="blamed">' in e.html()
    read_latex(e.latex())


def test_convex_in_another_order() -> None:
    text = BAD.replace(" - sum(u**2)", "").replace("diag(X) <= 1", "inv(X) <= 1")
    words = " ".join(explain(Program.parse(text)).text().split())
    assert "left side: convex in the order of psd matrices, which is not the order of the relation" in words
    assert "it is convex as a whole, not entry by entry" in words and "Curvature" in words


def test_what_nobody_is_blamed_for_is_no_mistake() -> None:
    e = explain(Program.parse(BAD))
    words = replace(e, lines=(replace(e.lines[0], blamed=None),)).text()
    assert "\nobjective: neither convex nor concave by the rules\n" in words
    assert "has to be" not in words and "Not convex" not in words and "Curvature\n" in words


def test_names_and_shapes_are_refused() -> None:
    with pytest.raises(ProgramError, match="'V' is not defined"):
        explain(Program.parse(BAD.replace("inv(X) @ W.T", "inv(X) @ V.T")))


@pytest.mark.some(1)
@pytest.mark.parametrize("part", range(5))
def test_lines_and_sizes_are_those_of_the_compiler(
    part: int, workload: Workload, subtests: pytest.Subtests
) -> None:
    """A fifth of the convex programs."""
    for name in CONVEX[part::5]:
        with subtests.test(name):
            program, e = Program.load(name), explain(name, workload)
            checked, c = check(program), compiled(e)
            assert [line.name for line in e.lines] == [program.sense, *(c.name for c in program.constraints)]
            for line in e.lines[1:]:
                found = [side.curvature for side in line.sides]
                assert found == [known.curvature.value for known in checked.constraints[line.name]]
            assert not any(node.blamed for line in e.lines for side in line.sides for node in walk(side))
            assert program.proof.partition("`")[0].partition("\n")[0] in e.text(10_000)
            instance = bind(program, workload)
            assert dict(c.dims) == instance.sizes()
            assert c.sizes is not None and c.sizes.conic == "clarabel"
            # The one that the solver is given, which takes a quadratic objective.
            given = lower(scale(instance)[0]).problem.get_problem_data("CLARABEL")[0]
            data, is_quadratic = given["A"], "P" in given and given["P"].nnz > 0
            assert c.matrix is not None and c.matrix_words == ""
            assert (c.matrix.rows, c.matrix.columns, c.matrix.nonzeros) == (*data.shape, data.nnz)
            assert c.matrix.is_quadratic == is_quadratic
            kinds, shown = given["dims"], Counter[tuple[str, int]]()
            for cone in c.sizes.cones:
                shown[cone.kind, cone.size] += cone.count
            assert shown == +Counter(
                {("zero", 1): kinds.zero, ("nonnegative", 1): kinds.nonneg, ("exponential", 3): kinds.exp}
            ) + Counter(("second-order", size) for size in kinds.soc) + Counter(
                ("psd", size) for size in kinds.psd
            ) + Counter(("power", 3) for _ in kinds.p3d)
            assert c.sizes.variables == data.shape[1]
            if not is_quadratic:
                assert list(c.sizes.cones) == cones(instance.checked, instance.sizes())
                assert c.sizes.variables == variables(instance.checked, instance.sizes())
            for row in e.lines:
                is_affine = {side.curvature for side in row.sides} <= {"affine", "constant"}
                assert is_affine or "linear" not in how(e, row.name)
            assert [line.name for line in e.lines] == [h.name for h in c.handed][: len(e.lines)]


def how(e: Explanation, name: str) -> str:
    """The form in which a line reaches the solver, in plain text."""
    (found,) = [h for h in compiled(e).handed if h.name == name]
    return " | ".join("".join(p if isinstance(p, str) else p.plain for p in words) for words in found.how)


def test_how_lines_are_handed_over(workload: Workload) -> None:
    e = explain("fitness_for_use", workload)
    assert how(e, "privacy") == (
        "Σ⁻¹ replaced by Y with one psd block [Y, I; I, Σ] ⪰ 0 | "
        "all 8 as one vector inequality: diag(Bᵀ Σ⁻¹ B) ≤ α"
    )
    assert how(e, "accuracy") == "all 8 as one vector inequality: diag(L Σ Lᵀ) ≤ c"
    assert how(e, "Sigma") == "psd follows from a block that contains it: no separate cone"
    e = explain("l2_strategy_lmi", workload)
    assert how(e, "lmi") == "8 psd cones of size 9, one for each j in m"
    e = explain("l2_strategy", workload)
    assert how(e, "minimize") == (
        "the trace of an inverse as tr(T) with one psd block [X, M; Mᵀ, T] ⪰ 0, where the trace is that of "
        "M Mᵀ times the inverse"
    )
    e = explain("query_weighting", workload)
    assert how(e, "inverse") == (
        "8 second-order cones of size 3 for 2 × 2 blocks: [a′, b; b, c′] ⪰ 0 says ‖(2b, a′ − c′)‖ ≤ a′ + c′"
    )
    assert how(e, "u") == "nonnegative, entry by entry"


# A line with a curved atom, and the words on what it becomes, of x with 3 entries and X of 3 × 3.
CONES_OF_LINES = {
    "logdet(X) >= 0": "logdet by 1 psd cone of size 6 and 3 exponential cones",
    "norm(x, 2) <= 1": "norm 2 by 1 second-order cone of size 4",
    "sum(exp(x)) <= 9": "exp by 3 exponential cones",
    "sum(entropy(x)) >= -9": "entropy by 3 exponential cones",
    "sum(huber(x)) <= 9": "huber by 3 equations and 3 second-order cones of size 3 and 6 inequalities",
    "lambda_max(X) <= 9": "lambda_max by 1 psd cone of size 3",
    "norm(x, inf) <= 9": "norm inf by 6 inequalities",
    "quad_over_lin(x, x[0] + 1) <= 9": "quad_over_lin by 1 second-order cone of size 5",
    "norm(x, 1) + norm(x, inf) <= 9": "norm 1 by 6 inequalities, norm inf by 6 inequalities",
}


def test_atoms_say_their_cones(subtests: pytest.Subtests) -> None:
    """No line is called linear that is curved; an equal atom in a later line is handed over once."""
    for line, words in CONES_OF_LINES.items():
        with subtests.test(line):
            text = "program p\ngiven\n    W: matrix[n, n] = workload.matrix\nchoose\n    x: vector[n] >= 0\n"
            text += "    X: psd[n, n]\nminimize\n    sum(x) + trace(X)\nsubject to\n"
            program = Program.parse(f"{text}    a: {line}\n    b: {line}\n")
            e = explain(program, Workload.from_matrix(np.tri(3)))
            assert how(e, "a") == f"{words}, with variables that cvxpy adds | as it stands"
            names = [part.partition(" by ")[0] for part in words.split(", ")]
            before = ", ".join(f"{name} as in an earlier constraint" for name in names)
            assert how(e, "b") == f"{before}, with variables that cvxpy adds | as it stands"
            assert how(e, "minimize") == "linear, as it stands"


OWN = """program own
given
    W: matrix[m, n] = workload.matrix
    k: scalar > 0
choose
    X: psd[n, n]
    S: symmetric[n, n]
    t: scalar
minimize
    trace(X) + max(diag(inv(X))) + t**2 - trace(root(X))
subject to
    again: diag(inv(X)) <= k
    each:  X[i, i] + sum(W[0, :] @ X) <= 10   for i in n
    whole: S >> eye(n)
    same:  S == X
strategy
    factor(X) norm 2
"""


def test_blocks_that_are_shared() -> None:
    e = explain(Program.parse(OWN), Workload.from_matrix(np.tri(3)), {"k": 5.0})
    assert how(e, "minimize") == (
        "X⁻¹ replaced by Y with one psd block [Y, I; I, X] ⪰ 0 | X^½ replaced by S′ with one psd block "
        "[X, S′; S′, I] ⪰ 0 | squares are passed as squares; other curved parts become cones: clarabel takes "
        "a quadratic objective"
    )  # S is chosen here: the new one has another name
    assert how(e, "again") == "X⁻¹ by the block of 'minimize' | as it stands"
    assert how(e, "each") == "3 separately, one for each i in n"
    assert how(e, "whole") == "1 psd cone of size 3"
    assert how(e, "same") == "linear, as it stands"
    assert how(e, "S") == "one variable for each pair of equal entries"
    given = {g.name.plain: g for g in compiled(e).givens}
    assert (given["k"].origin, given["k"].figures) == ("passed", "5")


def test_givens_and_units() -> None:
    e = explain("fitness_for_use", with_targets(np.tri(4)))
    rows = {g.name.plain: g for g in compiled(e).givens}
    assert (rows["L"].origin, rows["L"].shape) == ("workload.representation", "4 × 4")
    assert rows["L"].figures == "entries 0 to 1, norm 3.162, rank 4, 62% nonzero"
    assert rows["L"].preview is not None
    assert rows["L"].preview.plain == "1 0 0 0\n1 1 0 0\n1 1 1 0\n1 1 1 1"
    assert (rows["c"].shape, rows["c"].figures) == ("vector 4", "entries 1 to 9, sum 18")
    scaled = compiled(e).scaled
    assert scaled is not None
    assert [(s.name.plain, s.power.plain) for s in scaled] == [
        ("objective", "s² t⁻¹"),
        ("α", "s² t⁻¹"),
        ("Σ", "s⁻² t"),
    ]


def test_a_matrix_that_would_take_a_while_is_not_built() -> None:
    c = compiled(explain("l2_strategy_lmi", Workload.from_matrix(np.tri(96))))
    assert c.matrix is None
    assert c.matrix_words == (
        "not built to be counted, it has about 456,384 rows in 96 separate blocks, fewer if squares need no "
        "cones"
    )
    assert c.sizes is not None and c.sizes.cones
    lines = "\n".join(f"    c{i}: x >= {i}" for i in range(MOST_BLOCKS + 1))
    many = Program.parse(f"program many\nchoose\n    x: scalar\nminimize x\nsubject to\n{lines}\n")
    assert compiled(explain(many)).matrix is None


def test_the_choice_of_a_solver() -> None:
    small, large = (compiled(explain("l2_strategy", Workload.from_matrix(np.tri(n)))) for n in (4, 128))
    kernel, conic = small.choice.split(". Among conic solvers mmopt would choose ")
    assert kernel.startswith("nuclear: a kernel of mmopt")
    assert conic.startswith("clarabel: the first in its list that is installed")
    assert ". Among conic solvers mmopt would choose scs: " in large.choice
    (step,) = explain("eigen_design", Workload.from_matrix(np.tri(4))).steps
    assert compiled(step.explanation).choice  # of the step, whoever takes it


def test_steps_of_a_procedure(workload: Workload) -> None:
    (step,) = explain("eigen_design").steps
    assert (step.name, step.explanation.name, step.explanation.compiled) == (
        "weighting",
        "query_weighting",
        None,
    )
    (step,) = explain("eigen_design", workload).steps
    inner = compiled(step.explanation)
    assert inner.sizes is not None and inner.sizes.program == "query_weighting"
    assert compiled(explain("eigen_design", workload)).refusal.startswith("There are no variables here")


def test_multipliers_and_tight_rows(workload: Workload, solutions: dict[str, Solution]) -> None:
    solution = solutions["fitness_for_use"]
    solved = explain("fitness_for_use", workload, solution=solution).solved
    assert solved is not None
    for line in solved.lines:
        values = solution.multipliers[line.name]
        assert (line.count, line.multipliers) == (values.size, values.size)
        assert line.total == pytest.approx(values.sum())
        (label, value), *_ = line.largest
        assert value == values.max()
        noun = "cell" if line.name == "privacy" else "query"
        assert label == f"{noun} {int(values.argmax())}"
        assert (
            line.tight is not None and line.tight >= line.multipliers - line.zero
        )  # complementary slackness


def test_a_line_with_slack() -> None:
    workload = Workload.from_matrix(np.eye(3), targets=[1.0, 2.0, 4.0])
    text = Program.load("fitness_for_use").text.replace(
        "    accuracy:", "    far: alpha <= 100\n    accuracy:"
    )
    program = Program.parse(text)
    solution = mmopt.solve(workload, program)
    solved = explain(program, workload, solution=solution).solved
    assert solved is not None
    lines = {line.name: line for line in solved.lines}
    assert (lines["far"].tight, lines["far"].count) == (0, 1)
    assert lines["far"].total == pytest.approx(0.0, abs=1e-3)


def test_multipliers_without_a_workload(solutions: dict[str, Solution]) -> None:
    solved = explain("l2_strategy_lmi", solution=solutions["l2_strategy_lmi"]).solved
    assert solved is not None
    lmi, sensitivity = solved.lines
    assert (lmi.tight, lmi.multipliers, lmi.words) == (None, 0, "no multiplier kept")
    assert sensitivity.multipliers == 8 and sensitivity.largest[0][0].isdigit()


def test_steps_of_a_solution(workload: Workload, solutions: dict[str, Solution]) -> None:
    e = explain("eigen_design", workload, solution=solutions["eigen_design"])
    solved = e.steps[0].explanation.solved
    assert solved is not None and [line.name for line in solved.lines] == ["inverse", "sensitivity"]
    assert solved.lines[0].tight == solved.lines[0].count == 8


def test_solutions_of_something_else(workload: Workload, solutions: dict[str, Solution]) -> None:
    solution = solutions["fitness_for_use"]
    with pytest.raises(ResultError) as error:
        explain("l2_strategy", workload, solution=solution)
    assert str(error.value) == (
        "the solution is of 'fitness_for_use', not of 'l2_strategy'\n"
        "  explain the program that was solved, or solve this one"
    )
    text = Program.load("fitness_for_use").text
    changed = Program.parse(text.replace("<= c[j]", "<= 2 * c[j]"))
    with pytest.raises(ResultError, match="another text of 'fitness_for_use'"):
        explain(changed, solution=solution)
    words = text.replace("about\n", "about\n    Other words.\n").replace("largest", "greatest") + "\n# more"
    assert explain(Program.parse(words), solution=solution).solved is not None  # the same program
    other = named("all ranges")
    with pytest.raises(ResultError) as error:
        explain("fitness_for_use", other, solution=solution)
    assert str(error.value) == (
        f"the solution is for the workload {workload.hash[:12]}…, this one is {other.hash[:12]}…\n"
        "  give the workload that was solved"
    )


def test_reductions_are_shown_when_there_are_any(workload: Workload, solutions: dict[str, Solution]) -> None:
    solution = solutions["fitness_for_use"]
    assert "Reductions" not in explain("fitness_for_use", workload, solution=solution).text()
    reduced = replace(solution, reductions=("8 cells merged to 4",))
    assert "8 cells merged to 4" in explain("fitness_for_use", workload, solution=reduced).text()


def test_a_given_is_named_by_a_baseline() -> None:
    workload = named("prefix")
    rows = {g.name.plain: g for g in compiled(explain("query_weighting", workload, {"Q": "haar"})).givens}
    assert (rows["Q"].origin, rows["Q"].shape) == ("passed", "8 × 8")
    with pytest.raises(OptionError, match="there is no baseline 'harr'"):
        explain("query_weighting", workload, {"Q": "harr"})
    with pytest.raises(OptionError, match="has no given 'Q'"):
        explain("l2_strategy", workload, {"Q": "haar"})


TWO = """program two
class procedure
given
    W: matrix[r, n] = workload.root
steps
    first = solve(l2_strategy)
    A = first.strategy
    second = solve(query_weighting, Q=A)
minimize
    trace(W @ inv(A.T @ A) @ W.T)
strategy
    A norm 2
"""


def test_a_step_that_needs_an_earlier_one() -> None:
    workload, program = Workload.from_matrix(np.tri(3)), Program.parse(TWO)
    before = explain(program, workload)
    assert [step.explanation.compiled is not None for step in before.steps] == [True, False]
    after = explain(program, workload, solution=mmopt.solve(workload, program))
    second = compiled(after.steps[1].explanation)
    assert second.sizes is not None
    assert {g.name.plain: g.origin for g in second.givens}["Q"] == "passed"


def test_givens_of_the_solution_are_used() -> None:
    workload = Workload.from_matrix(np.tri(4))
    solution = mmopt.solve(workload, "query_weighting", givens={"Q": np.eye(4)})
    origins = {
        g.name.plain: g.origin
        for g in compiled(explain("query_weighting", workload, solution=solution)).givens
    }
    assert (origins["Q"], origins["W"]) == ("passed", "workload.root")


def test_reductions_that_a_solve_would_begin_with() -> None:
    ranges = Workload.from_matrix([[1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1], [1, 1, 1, 1]], targets=[1.0] * 4)
    line = "reflection: 4 cells -> 2 orbits, 2 components of size up to 2"
    assert compiled(explain("l2_strategy", ranges)).reductions == (line,)
    assert compiled(explain("query_weighting", ranges)).reductions == ()
    assert mmopt.solve(ranges, "l2_strategy").reductions == (line,)


def test_what_a_relaxed_row_does_to_the_optimum() -> None:
    for sense, moves in (("maximize", "rises"), ("minimize -1 *", "falls")):
        text = f"program own\nchoose\n    x: vector[2] >= 0\n{sense} sum(x)\nsubject to\n    c: sum(x) <= 1\n"
        program = Program.parse(text)
        words = " ".join(explain(program, [[1]], solution=mmopt.solve(program=program)).text().split())
        assert f"Relax a row by t: the optimum {moves} by at most t times the multiplier" in words
        assert (
            "left out together. At an optimum, a row that is not tight has multiplier zero. All this" in words
        )


def test_what_a_relaxed_row_does_where_several_multipliers_prove_the_optimum() -> None:
    """At a degenerate vertex a multiplier is no rate, but t times it is still the most that a row gains."""
    text = (
        "program own\nparameter\n    t = 0\nchoose\n    x: vector[2] >= 0\nmaximize 3 * x[0] + 2 * x[1]\n"
        "subject to\n    a: x[0] + x[1] <= 4 + t\n    b: x[0] + 3 * x[1] <= 6\n    c: x[0] <= 3\n"
    )
    at, relaxed = (mmopt.solve(program=Program.parse(text), givens={"t": t}) for t in (0.0, 0.5))
    (line,) = (s for s in explained_lines(Program.parse(text), at) if s.name == "a")
    assert relaxed.objective - at.objective < 1e-6 < 0.1 < line.total


@pytest.mark.parametrize("size", [1.0, 1e-4, 1e5])
def test_a_row_with_0_on_its_right_is_tight_where_the_point_is(size: float) -> None:
    """The terms of ``x >= 0`` vanish there: it is measured by the variable, or by the whole solution."""
    numbers = (
        f"program own\nchoose\n    x: scalar\n    y: scalar\nmaximize x + 3 * y\nsubject to\n    px: x >= 0\n"
        f"    py: y >= 0\n    first: x + 2 * y <= {3 * size}\n    second: 2 * x + y <= {3 * size}\n"
    )
    vector = (
        f"program own\nchoose\n    x: vector[3]\nmaximize x[0] + 3 * x[1]\nsubject to\n    signs: x >= 0\n"
        f"    first: x[0] + 2 * x[1] + x[2] <= {3 * size}\n    order: x[2] <= x[1]\n"
    )
    shown = {}
    for text in (numbers, vector):
        program = Program.parse(text)
        for s in explained_lines(program, mmopt.solve(program=program)):
            shown[s.name] = (s.tight, s.zero, round(s.total, 4))
    assert shown == {
        "px": (1, 0, 0.5),
        "py": (0, 1, 0.0),
        "first": (1, 0, 1.5),
        "second": (0, 1, 0.0),
        "signs": (2, 1, 2.0),
        "order": (0, 1, 0.0),
    }


def test_only_rows_of_multipliers_near_optimal_ones_can_be_left_out() -> None:
    program = Program.parse(
        "program own\nchoose\n    x: scalar >= 0\nmaximize x\nsubject to\n    a: x <= 1\n    b: x <= 2\n"
    )
    s = mmopt.solve(program=program)
    none = {**s.derived_from, "line a": np.zeros(()), "line b": np.zeros(())}
    for one, says in (
        (s, True),
        (replace(s, bound=1.01, derived_bound=1.01), False),
        (replace(s, multipliers={"a": np.zeros(()), "b": np.zeros(())}, derived_from=none), False),
    ):
        solved = explain(program, solution=one).solved
        assert solved is not None and ("could be left out together" in solved.legend) == says


def test_every_line_of_a_matrix_has_its_multiplier() -> None:
    """In one block, in several, or in none; scaled by a given that is far from one, and without scales."""
    for size in (1.0, 1e5):
        for floor in ("[[P - A]] >> 0", "P - A >> 0", "[[P, A], [A, P]] >> 0"):
            text = (
                f"program own\ngiven\n    A: symmetric[2, 2]\nchoose\n    P: psd[2, 2]\n"
                f"minimize trace(P)\nsubject to\n    floor: {floor}\n"
            )
            program = Program.parse(text)
            solved = mmopt.solve(program=program, givens={"A": size * np.diag([1.0, 2.0])})
            (line,) = explained_lines(program, solved)
            # Relaxed by t times the identity, the least trace falls by 2 t.
            assert (line.total, line.tight) == (pytest.approx(2.0, rel=1e-4), 1)


def explained_lines(program: Program, solution: Solution) -> tuple[SolvedLine, ...]:
    """The lines of a program without a workload, at its solution."""
    solved = explain(program, solution=solution).solved
    assert solved is not None
    return solved.lines


def solved_line(text: str, givens: dict[str, object], name: str) -> SolvedLine:
    """A line of a program without a workload, at its solution."""
    program = Program.parse(text)
    solved = explain(program, [[1]], solution=mmopt.solve(program=program, givens=givens)).solved
    assert solved is not None
    return next(line for line in solved.lines if line.name == name)


LYAPUNOV = """program l
given
    A: matrix[n, n]
choose
    P: psd[n, n]
minimize
    trace(P)
subject to
    decay: A.T @ P + P @ A + eye(n) << 0
    small: P << 9 * eye(n)
"""


def test_a_matrix_that_is_zero_is_tight() -> None:
    """Its eigenvalues are rounding of its terms, and so are the multipliers of a line with much room."""
    a = np.array([[-1.0, 2.0], [0.0, -3.0]])
    decay, small = (solved_line(LYAPUNOV, {"A": a}, name) for name in ("decay", "small"))
    assert (decay.count, decay.tight, decay.zero) == (1, 1, 0)
    assert decay.words == "tight means singular, sum the trace: rank 0 of 2"
    assert decay.total == pytest.approx(5 / 6, rel=1e-6)  # the dual: the trace of the multiplier
    assert (small.tight, small.zero, small.largest) == (0, small.multipliers, ())
    assert small.words == "tight means singular, sum the trace: rank 2 of 2"


def test_multipliers_that_are_not_shown_are_counted() -> None:
    text = "program p\ngiven\n    c: vector[6]\nchoose\n    x: vector[6]\nminimize\n    c @ x\n"
    line = solved_line(text + "subject to\n    low: x >= 1\n", {"c": [5, 4, 3, 2, 1, 0]}, "low")
    assert [round(value, 4) for _, value in line.largest] == [5, 4, 3]
    assert (line.multipliers, line.zero, line.more) == (6, 1, 2)


def test_a_line_of_zeros_only() -> None:
    text = "program p\nchoose\n    x: vector[3] >= 0\nminimize\n    sum(x)\nsubject to\n"
    text += "    need: sum(x) >= 2\n    most: x <= 10\n"
    most, need = (solved_line(text, {}, name) for name in ("most", "need"))
    assert (most.tight, most.zero, most.largest) == (0, 3, ())
    assert (need.tight, need.zero) == (1, 0)


def test_a_multiplier_of_an_equation() -> None:
    """The optimum falls that fast as the right side grows, as the text says."""
    text = (
        "program p\nchoose\n    x: vector[2]\nminimize\n    sum((x - 2)**2)\nsubject to\n    c: sum(x) == B\n"
    )
    line = solved_line(text.replace("B", "1"), {}, "c")
    more, less = (mmopt.solve(program=Program.parse(text.replace("B", b))) for b in ("1.001", "0.999"))
    assert line.total == pytest.approx((less.objective - more.objective) / 0.002, rel=1e-4)


def test_what_is_not_used_is_not_said() -> None:
    program = Program.parse(LYAPUNOV)
    e = explain(program, np.tri(3), {"A": np.diag([-1.0, -2.0])})
    assert compiled(e).workload == "no queries are used"
    assert "queries" not in e.text().replace("no queries are used", "")
    assert scale(bind(program, Workload.from_matrix(np.tri(3)), {"A": np.diag([-1.0, -2.0])}))[1].scales == {}
    words = " ".join(explain("l2_strategy", np.tri(3)).text().split())
    assert "When all queries are multiplied by s, the optimum" in words and "targets" not in words


def test_guides_of_a_tree_go_on() -> None:
    """Beside a rule of several lines, too; and no name is cut where it has room."""
    text = explain(Program.parse(BAD)).text(60)
    rows = text.partition("\nexpression ")[2].partition("─\n")[2].partition("\n\n")[0].splitlines()
    parts = [at for at, row in enumerate(rows) if row[:1] in ("├", "└")]
    assert len(parts) == 2 and len(rows) > 8  # of the sum, with rules of several lines
    assert {row[0] for row in rows[1 : parts[1]]} == {"├", "│"}
    assert not re.search(r"─ \w…", text)
