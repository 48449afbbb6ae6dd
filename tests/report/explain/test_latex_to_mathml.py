"""MathML from the LaTeX that the typesetter writes: well formed, and with the right parts."""

from __future__ import annotations

import xml.etree.ElementTree as ET

import pytest

from mmopt.language import Program, program_names, typeset_latex
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.print.program_layout import program_lines
from mmopt.report.explain.latex_to_mathml import mathml

# Elements of MathML Core, which browsers print.
ELEMENTS = "math mrow mi mn mo mtext mspace mfrac msqrt msup msub msubsup mtable mtr mtd"
CORE = frozenset(ELEMENTS.split())


def tree(latex: str) -> ET.Element:
    return ET.fromstring(mathml(latex))


def spoken(latex: str) -> str:
    return "".join(tree(latex).itertext())


@pytest.mark.parametrize("name", program_names())
def test_every_line_of_a_program(name: str) -> None:
    for _, formula, _ in program_lines(Program.load(name), "latex"):
        found = tree(formula)
        assert {element.tag for element in found.iter()} <= CORE
        assert "\\" not in "".join(found.itertext()), formula
    assert "aligned" not in spoken(typeset_latex(Program.load(name)))


OPERATORS = {"sum", "max", "min", "tr", "diag", "exp", "log", "det", "logsumexp"}
CALLED = {
    "factor",
    "rank",
    "used rows",
    "row basis",
    "polar",
    "consecutive",
    "leading",
    "toeplitz",
    "windows",
    "support",
}
CALLED |= {"huber", "entropy", "D", "λ", "σ", "F"}


@pytest.mark.quick
@pytest.mark.parametrize("name", ATOMS)
def test_every_atom(name: str) -> None:
    """No command of the table is left as its bare name, but for operators such as max."""
    written = ATOMS[name].latex.text.format("x", "y")
    found = tree(written)
    assert "x" in spoken(written)
    names = {element.text for element in found.iter("mi")} - {"x", "y"}
    assert names <= {*OPERATORS, *CALLED, "I", "T"}, name


@pytest.mark.parametrize(
    ("latex", "elements"),
    [
        (r"\frac{a}{b}", "math mrow mfrac mrow mrow mi mrow mrow mi"),
        (r"\left(a\right)^{\mathsf T}", "math mrow msup mrow mo mi mo mrow mi"),
        (r"\mathbb R_{\ge 0}^{n}", "math mrow msubsup mi mrow mo mn mrow mi"),
        (r"\sqrt{x}", "math mrow msqrt mrow mi"),
        (r"\text{repeat}\ k\ \text{times}", "math mrow mtext mspace mi mspace mtext"),
        (r"\text{a_b}", "math mrow mtext"),
        (
            r"\begin{bmatrix} a & b \\ c & d \end{bmatrix}",
            "math mrow mrow mo mtable mtr mtd mrow mi mtd mrow mi mtr mtd mrow mi mtd mrow mi mo",
        ),
    ],
)
def test_structure(latex: str, elements: str) -> None:
    assert [element.tag for element in tree(latex).iter()] == elements.split()


def test_fractions_inside_fractions_are_as_large() -> None:
    """What is above and below a line is set as a formula by itself, however deep."""
    parts = [part for over in tree(r"\frac{\frac{a}{b}}{c + \frac{d}{e}}").iter("mfrac") for part in over]
    assert len(parts) == 6 and all(part.get("displaystyle") == "true" for part in parts)
    assert tree("x").get("displaystyle") == "true"


@pytest.mark.parametrize(
    ("inner", "grows"),
    [
        (r"\frac{a}{b}", True),
        (r"\begin{bmatrix} a \end{bmatrix}", True),
        ("a^{2}", False),
        (r"\sqrt{a}", False),
    ],
)
def test_fences_grow_with_what_is_tall(inner: str, grows: bool) -> None:
    for latex in (rf"\left({inner}\right)", rf"\left\|{inner}\right\|_*"):
        fences = [mo for mo in tree(latex).iter("mo") if mo.text in ("(", ")", "‖")]
        assert [mo.get("stretchy") for mo in fences] == ["true" if grows else "false"] * 2
    assert [mo.text for mo in tree(r"\left[\frac{a}{b}\right.").iter("mo")] == ["["]


def test_a_relation_in_front_has_no_room_before_it() -> None:
    (relation,) = tree(r"\le x").iter("mo")
    assert (relation.text, relation.get("lspace")) == ("≤", "0em")
    (relation,) = tree(r"x \le y").iter("mo")
    assert relation.get("lspace") is None


@pytest.mark.parametrize(
    ("latex", "text"),
    [
        (r"\left\|X\right\|_*", "‖X‖∗"),
        (r"\alpha_{1} \le 1.5", "α1≤1.5"),
        (r"x - 1", "x−1"),
        (r"\left|x\right|", "|x|"),
        (r"\mathrm{step\_one} < 2", "step_one<2"),
        (r"\text{a \& b \textbackslash{} 50\%}", r"a & b \ 50%"),
        (r"\log x", "logx"),
        (r"\left[a\right.", "[a"),
        ("1e-09", "1e-09"),
    ],
)
def test_texts(latex: str, text: str) -> None:
    assert spoken(latex) == text
