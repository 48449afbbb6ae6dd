"""Programs in print: known texts, brackets where paper needs them, and LaTeX that is well formed.

Guards typeset.py.
"""

import re

import pytest
from edited_programs import typeset_text

from mmopt.errors import ProgramError
from mmopt.language import Program, check, program_names, typeset_latex
from mmopt.language.typeset import latex_name, plain_name, print_expr

TEXT = """program trial
given
    W: matrix[m, n] = workload.matrix
    c: vector[n] > 0 "costs & 100% of _them_"
    k: scalar
choose
    X: psd[n, n]
    alpha_1: scalar
    u: vector[n] >= 0
    S: symmetric[2*n, 2*n]
minimize
    alpha_1
strategy
    factor(X) norm 2
let
    y = {0}
"""

# expression, plain text, LaTeX
FORMS = [
    ("W @ W.T", "W Wᵀ", r"W\,W^{\mathsf T}"),
    ("c @ c", "cᵀ c", r"c^{\mathsf T}\,c"),
    ("(c @ W.T).T", "(cᵀ Wᵀ)ᵀ", r"\left(c^{\mathsf T}\,W^{\mathsf T}\right)^{\mathsf T}"),
    ("W[0, :] @ c", "W[0, :] c", r"W_{0,:}\,c"),
    ("W @ W[0, :]", "W W[0, :]ᵀ", r"W\,W_{0,:}^{\mathsf T}"),
    ("W * W", "W ∘ W", r"W \circ W"),
    ("k * W", "k W", r"k\,W"),
    ("W * 2", "W · 2", r"W \cdot 2"),
    ("2 * k * (k + 1)", "2 k (k + 1)", r"2\,k\,\left(k + 1\right)"),
    ("(W * W) @ c", "(W ∘ W) c", r"\left(W \circ W\right)\,c"),
    ("(W * W).T", "(W ∘ W)ᵀ", r"\left(W \circ W\right)^{\mathsf T}"),
    ("W @ W.T * 2 - -k", "W Wᵀ · 2 − (−k)", r"W\,W^{\mathsf T} \cdot 2 - \left(-k\right)"),
    ("k - (k - 1) + (k + 2)", "k − (k − 1) + k + 2", r"k - \left(k - 1\right) + k + 2"),
    ("k / (k * 3)", "k / (k · 3)", r"\frac{k}{k \cdot 3}"),
    ("c / k / 2", "c / k / 2", r"\frac{\frac{c}{k}}{2}"),
    ("(c / k) @ c", "(c / k)ᵀ c", r"\left(\frac{c}{k}\right)^{\mathsf T}\,c"),
    ("W @ (c / k)", "W (c / k)", r"W\,\frac{c}{k}"),
    ("sum(c)**2", "sum(c)²", r"\operatorname{sum}\left(c\right)^{2}"),
    ("sqrt(k)**2", "(√k)²", r"\sqrt{k}^{2}"),
    ("sqrt(k + 1)", "√(k + 1)", r"\sqrt{k + 1}"),
    ("1e-9 * k + 2.5e30", "1e-09 k + 2.5e+30", r"10^{-9}\,k + 2.5 \cdot 10^{30}"),
    ("(1e-9)**3", "(1e-09)³", r"\left(10^{-9}\right)^{3}"),
    ("(k + 1)**-3", "(k + 1)⁻³", r"\left(k + 1\right)^{-3}"),
    ("c**(1/3) @ c**(-2/3)", "(c^(1/3))ᵀ c^(−2/3)", r"\left(c^{1/3}\right)^{\mathsf T}\,c^{-2/3}"),
    ("k**(1/2) * k**(k / 2)", "k^½ k^(k / 2)", r"k^{1/2}\,k^{\frac{k}{2}}"),
    ("k**0.5 * k**0.25", "k^½ k^(0.25)", r"k^{0.5}\,k^{0.25}"),
    ("inv(W.T @ W)", "(Wᵀ W)⁻¹", r"\left(W^{\mathsf T}\,W\right)^{-1}"),
    ("inv(W.T @ W).T", "((Wᵀ W)⁻¹)ᵀ", r"\left(\left(W^{\mathsf T}\,W\right)^{-1}\right)^{\mathsf T}"),
    ("root(W.T @ W) @ pinv(W)", "(Wᵀ W)^½ W⁺", r"\left(W^{\mathsf T}\,W\right)^{1/2}\,W^{+}"),
    ("nuclear(W @ diag(sqrt(c)))", "‖W diag(√c)‖∗", None),
    ("abs(W)", "|W|", r"\left|W\right|"),
    ("norm(c) + norm(c, 1)", "‖c‖₂ + ‖c‖₁", r"\left\|c\right\|_2 + \left\|c\right\|_1"),
    ("norm(c, inf) + norm(W, fro)", "‖c‖∞ + ‖W‖F", r"\left\|c\right\|_\infty + \left\|W\right\|_F"),
    ("lambda_max(W.T @ W)", "λmax(Wᵀ W)", r"\lambda_{\max}\left(W^{\mathsf T}\,W\right)"),
    ("max(k, c)", "max(k, c)", r"\max\left(k,\,c\right)"),
    ("logdet(W.T @ W)", "log det(Wᵀ W)", None),
    ("W[0, 1] + W[m - 1, 1]", "W[0, 1] + W[m − 1, 1]", "W_{0,1} + W_{m - 1,1}"),
    (
        "k * sum(W[i, j] + c[j] for i in m for j in n if i < j)",
        "k (Σ(i ∈ [m], j ∈ [n]: i < j) (W[i, j] + c[j]))",
        r"k\,\left(\sum_{i \in [m], j \in [n]: i < j} \left(W_{i,j} + c_{j}\right)\right)",
    ),
    ("max(c[i] for i in n)", "max((c[i]: i ∈ [n]))", r"\max\left(\left(c_{i}\right)_{i \in [n]}\right)"),
    (
        "sum(abs(W), axis=0)",
        "column-sum(|W|)",
        r"\operatorname{sum}_{\text{column}}\left(\left|W\right|\right)",
    ),
    ("max(W, axis=1)", "row-max(W)", r"\max_{\text{row}}\left(W\right)"),
    ("[[eye(m), W], [W.T, diag(c)]]", "[I(m), W; Wᵀ, diag(c)]", None),
    ("stack(W, W)", "[W; W]", r"\begin{bmatrix}W\\W\end{bmatrix}"),
    ("trace(W.T @ W) + W[0, 1]", "tr(Wᵀ W) + W[0, 1]", None),
]


def test_forms(subtests: pytest.Subtests) -> None:
    for expression, plain, latex in FORMS:
        with subtests.test(expression):
            checked = check(Program.parse(TEXT.format(expression)))
            expr = checked.program.lets[0].expr
            written = print_expr(expr, checked.scope, "plain"), print_expr(expr, checked.scope, "latex")
            assert plain in (None, written[0])
            assert latex in (None, written[1])
            assert well_formed(written[1])


def well_formed(latex: str) -> bool:
    """Braces, \\left \\right and environments in pairs."""
    bare = re.sub(r"\\[{}]", "", latex)
    depth = 0
    for char in bare:
        depth += (char == "{") - (char == "}")
        if depth < 0:
            return False
    brackets = len(re.findall(r"\\left(?![a-z])", bare)) == bare.count(r"\right")
    blocks = all(
        latex.count(f"\\begin{{{e}}}") == latex.count(f"\\end{{{e}}}") for e in ("aligned", "bmatrix")
    )
    return depth == 0 and brackets and blocks


@pytest.mark.quick
def test_a_program_in_plain_text() -> None:
    program = Program.parse(Program.load("l2_strategy").text.replace("about", "about\n    x"))
    assert typeset_text(program) == "\n".join(
        [
            "given            W, a matrix r × n       the queries up to rotation: only Wᵀ W matters",
            "choose           X ⪰ 0, a matrix n × n   strategy Gram matrix Aᵀ A",
            "minimize         tr(W X⁻¹ Wᵀ)",
            "subject to       diag(X) ≤ 1             sensitivity",
            "repair           X ← X / max(diag(X))",
            "                 X ← X + diag(1 − diag(X))",
            "strategy         factor(X)               norm 2",
            "from strategy A  X = Aᵀ A",
            "bound            ‖W diag(√d)‖∗² / sum(d)   ∀ d ≥ 0",
        ]
    )


def test_a_strategy_from_elsewhere_has_its_shape() -> None:
    """Beside a number a product is plain, not that of two arrays."""
    lines = typeset_text(Program.load("gamma_2"))
    assert "X = Aᵀ A √(max(diag(W (Aᵀ A)⁻¹ Wᵀ)) / max(diag(Aᵀ A)))" in lines


def test_a_program_in_latex() -> None:
    text = TEXT.format("k") + "subject to\n    a_b: u[i] + X[i, i] <= alpha_1 for i in n\n"
    assert typeset_latex(Program.parse(text)).split("\n") == [
        r"\begin{aligned}",
        r"\text{given}\quad & W \in \mathbb R^{m \times n} \\",
        r"\quad & c \in \mathbb R_{> 0}^{n} && \text{costs \& 100\% of \_them\_} \\",
        r"\quad & k \in \mathbb R \\",
        r"\text{let}\quad & y = k \\",
        r"\text{choose}\quad & X \in \mathbb S_+^{n} \\",
        r"\quad & \alpha_{1} \in \mathbb R \\",
        r"\quad & u \in \mathbb R_{\ge 0}^{n} \\",
        r"\quad & S \in \mathbb S^{2\,n} \\",
        r"\text{minimize}\quad & \alpha_{1} \\",
        r"\text{subject to}\quad & u_{i} + X_{i,i} \le \alpha_{1} \quad \forall i \in [n] && \text{a\_b} \\",
        r"\text{strategy}\quad & \operatorname{factor}\left(X\right) && \text{norm 2}",
        r"\end{aligned}",
    ]


def test_shipped_programs_print(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            program = Program.load(name)
            latex, plain = typeset_latex(program), typeset_text(check(program))
            assert well_formed(latex)
            for constraint in program.constraints:
                assert f"\\text{{{constraint.name}}}" in latex
                assert re.search(rf"   {constraint.name}$", plain, re.MULTILINE)
            for word in ("given", program.sense, "bound"):
                assert f"\\text{{{word}}}" in latex
                assert re.search(rf"^{word} ", plain, re.MULTILINE)


def test_a_program_that_does_not_check_is_not_printed() -> None:
    with pytest.raises(ProgramError, match="'z' is not defined"):
        typeset_text(Program.parse(TEXT.format("z")))


NAMES = [
    ("alpha", "α", r"\alpha"),
    ("Sigma", "Σ", r"\Sigma"),
    ("mu1", "μ1", r"\mu_{1}"),
    ("x_j", "x_j", "x_{j}"),
    ("Sigma_ij", "Σ_ij", r"\Sigma_{\mathrm{ij}}"),
    ("alphabet", "alphabet", r"\mathrm{alphabet}"),
    ("cost", "cost", r"\mathrm{cost}"),
    ("step.strategy", "step.strategy", r"\mathrm{step.strategy}"),
    ("_x", "_x", r"\mathrm{\_x}"),
    ("λ", "λ", "λ"),
]


def test_names(subtests: pytest.Subtests) -> None:
    for name, plain, latex in NAMES:
        with subtests.test(name):
            assert plain_name(name) == plain
            assert latex_name(name) == latex
