"""MathML from the LaTeX that the typesetter writes: well formed, and with the right parts.

Guards explanation_html_and_mathml.py.
"""

import xml.etree.ElementTree as ET

import pytest

from mmopt.language import Program, program_names, typeset_latex
from mmopt.language.atoms.table_of_atoms import ATOMS
from mmopt.language.typeset import program_lines
from mmopt.report.explain.explanation_html_and_mathml import LatexError, mathml

# Elements of MathML Core, which browsers print.
ELEMENTS = "math mrow mi mn mo mtext mspace mfrac msqrt msup msub msubsup munder munderover mtable mtr mtd"
CORE = frozenset(ELEMENTS.split())


def tree(latex: str) -> ET.Element:
    return ET.fromstring(mathml(latex))


def spoken(latex: str) -> str:
    return "".join(tree(latex).itertext())


def test_every_line_of_every_program(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            for _, formula, _ in program_lines(Program.load(name), "latex"):
                found = tree(formula)
                assert {element.tag for element in found.iter()} <= CORE
                assert "\\" not in "".join(found.itertext()), formula
            assert "aligned" not in spoken(typeset_latex(Program.load(name)))


# What stands in upright letters: no command is left as its bare name.
UPRIGHT = (
    "sum max min tr diag exp log det logsumexp factor rank polar consecutive leading toeplitz windows "
    "support huber entropy D λ σ F I T cumsum diff logistic"
)


@pytest.mark.quick
def test_every_atom(subtests: pytest.Subtests) -> None:
    names = {*UPRIGHT.split(), "used rows", "row basis", "geo mean", "sum largest"}
    for name, atom in ATOMS.items():
        with subtests.test(name):
            written = atom.latex.text.format("x", "y")
            assert "x" in spoken(written)
            assert {element.text for element in tree(written).iter("mi")} - {"x", "y"} <= names


STRUCTURES = (
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
)
TEXTS = (
    (r"\left\|X\right\|_*", "‖X‖∗"),
    (r"\alpha_{1} \le 1.5", "α1≤1.5"),
    (r"x - 1", "x−1"),
    (r"\left|x\right|", "|x|"),
    (r"\mathrm{step\_one} < 2", "step_one<2"),
    (r"\text{a \& b \textbackslash{} 50\%}", r"a & b \ 50%"),
    (r"\log x", "logx"),
    (r"\left[a\right.", "[a"),
    ("1e-09", "1e-09"),
)


def test_elements_and_texts(subtests: pytest.Subtests) -> None:
    for latex, elements in STRUCTURES:
        with subtests.test(latex):
            assert [element.tag for element in tree(latex).iter()] == elements.split()
    for latex, text in TEXTS:
        with subtests.test(latex):
            assert spoken(latex) == text


def test_fractions_inside_fractions_are_as_large() -> None:
    """Numerator and denominator are set as formulas by themselves, however deep."""
    parts = [part for over in tree(r"\frac{\frac{a}{b}}{c + \frac{d}{e}}").iter("mfrac") for part in over]
    assert len(parts) == 6 and all(part.get("displaystyle") == "true" for part in parts)
    assert tree("x").get("displaystyle") == "true"


def test_fences_grow_with_what_is_tall() -> None:
    for inner, grows in (
        (r"\frac{a}{b}", "true"),
        (r"\begin{bmatrix} a \end{bmatrix}", "true"),
        ("a^{2}", "false"),
        (r"\sqrt{a}", "false"),
    ):
        for latex in (rf"\left({inner}\right)", rf"\left\|{inner}\right\|_*"):
            fences = [mo for mo in tree(latex).iter("mo") if mo.text in ("(", ")", "‖")]
            assert [mo.get("stretchy") for mo in fences] == [grows] * 2
    assert [mo.text for mo in tree(r"\left[\frac{a}{b}\right.").iter("mo")] == ["["]


def test_a_relation_in_front_has_no_room_before_it() -> None:
    (relation,) = tree(r"\le x").iter("mo")
    assert (relation.text, relation.get("lspace")) == ("≤", "0em")
    (relation,) = tree(r"x \le y").iter("mo")
    assert relation.get("lspace") is None


def test_wrong_latex_is_an_error(subtests: pytest.Subtests) -> None:
    for latex, words in (
        (r"\foo x", r"'\foo' is not known"),
        (r"\frac{a}{b", "braces that do not match"),
        (r"}a{", "braces that do not match"),
        (r"\left(a", "braces that do not match"),
        (r"\frac{a}", "an argument is missing"),
        (r"x^", "an argument is missing"),
        (r"\begin{cases} a \end{cases}", "the environment 'cases' is not known"),
        (r"a & b", "a '&' outside of a table"),
    ):
        with subtests.test(latex), pytest.raises(LatexError) as error:
            mathml(latex)
        assert str(error.value) == words


def test_lines_and_matrices_are_tables() -> None:
    text = mathml(r"\begin{aligned} \{x\} &\le \tfrac{1}{2} \\ y &= 1 \end{aligned}", "block")
    assert text.startswith('<math display="block">') and text.count("<mtr>") == 2
    assert "<mfrac>" in text and "\\" not in text and "[" not in text
    assert spoken(r"\begin{pmatrix} a & b \end{pmatrix}") == "(ab)"


def test_formulas_are_set_as_in_print() -> None:
    """Limits below and room around functions, none before a bracket; signs of numbers beside them."""
    low = '<mo movablelimits="true" lspace="0em" rspace="0em">min</mo><mi>x</mi>'
    assert f'<munder>{low}</munder><mspace width="0.17em"/><msub><mi>f</mi><mi>d</mi></msub>' in (
        mathml(r"\min_x f_d", "block")
    )
    assert "<munderover><mo>∑</mo><mi>i</mi><mi>n</mi></munderover>" in mathml(r"\sum_i^n x")
    assert '<mo form="prefix">+</mo>' in mathml(r"x = +\infty") and "prefix" not in mathml("(x)+y - 1")
    shown = '<mn>2</mn><mspace width="0.17em"/><mi>tr</mi><mo stretchy="false"'
    assert shown in mathml(r"2 \operatorname{tr}(X)") and "mspace" not in mathml(r"\operatorname{tr}(X)")
    assert '<mo stretchy="false" lspace="0em" rspace="0em">/</mo>' in mathml("a/b")
    assert spoken(r"\hat x \Big( y") == "x^(y"
