"""Mathematics between backticks: every shipped piece is set, what is no mathematics stays as it is.

Guards typeset.py.
"""

import numpy as np
import pytest

from mmopt.language import Program, check, program_names, shipped
from mmopt.language.atoms.table_of_atoms import ATOMS, FUNCTIONS
from mmopt.language.typeset import Formula, Sentence, plain_words, prose
from mmopt.report.explain import explain
from tests.language.test_typeset import well_formed

PROGRAM = """program trial
given
    W: matrix[m, n] = workload.matrix
    c: vector[n] > 0
choose
    X: psd[n, n]
    alpha: scalar
minimize
    alpha
"""
SCOPE = check(Program.parse(PROGRAM)).scope


def formulas(words: Sentence) -> list[Formula]:
    return [piece for piece in words if isinstance(piece, Formula)]


def texts(name: str) -> list[str]:
    """All words of a shipped program in which mathematics may stand."""
    p = Program.load(name)
    return [f"{p.about}\n\n{p.proof}", *(d.doc for d in (*p.givens, *p.choose) if d.doc)]


def test_every_piece_of_a_shipped_program_is_set(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            for text in texts(name):
                words, _ = prose(text, shipped(name).scope)
                left = [piece for piece in words if isinstance(piece, str) and "`" in piece]
                assert not left
                assert (text.count("`") > 0) == bool(formulas(words))
                for formula in formulas(words):
                    assert well_formed(formula.latex)
                    assert not set("`@*\\") & set(formula.plain), formula.plain


def test_a_piece_that_lost_a_bracket_is_not_set(rng: np.random.Generator) -> None:
    names = [name for name in program_names() if "(" in "".join(texts(name)[0].split("`")[1::2])]
    for name in rng.choice(names, 6, replace=False).tolist():
        text, scope = texts(name)[0], shipped(name).scope
        whole, _ = prose(text, scope)
        within = [i for i, char in enumerate(text) if char in "()[]" and text.count("`", 0, i) % 2]
        at = int(rng.choice(within))
        words, _ = prose(text[:at] + text[at + 1 :], scope)
        assert "`" in plain_words(words) and "`" not in plain_words(whole)


FORMS = [
    ("`X = W.T @ W`", "X = Wᵀ W", [r"X", r"= W^{\mathsf T}\,W"]),
    ("`X >> W.T @ W`", "X ⪰ Wᵀ W", [r"X", r"\succeq W^{\mathsf T}\,W"]),
    (
        "`nuclear(W @ D^(1/2))^2 <= alpha <= 2 * E * alpha`",
        "‖W D^½‖∗² ≤ α ≤ 2 E α",
        [r"\left\|W\,D^{1/2}\right\|_*^{2}", r"\le \alpha", r"\le 2\,E\,\alpha"],
    ),
    ("`Y^(-1/2)` and `c**(2/3)`", "Y^(−1/2) and c^(2/3)", ["Y^{-1/2}", "c^{2/3}"]),
    ("`log(n) / pi`", "log(n) / π", [r"\log\left(n\right) / \pi"]),
    ("`v_i.T @ theta` at `phi[1/2]`", "v_iᵀ θ at φ[1/2]", [r"v_{i}^{\mathsf T}\,\theta", r"\phi_{1/2}"]),
    ("`c * c`-weighted", "c ∘ c-weighted", [r"c \circ c"]),
    ("on\ntwo `W @\nX` lines", "on\ntwo W X lines", [r"W\,X"]),
]


@pytest.mark.quick
def test_forms(subtests: pytest.Subtests) -> None:
    for text, plain, latex in FORMS:
        with subtests.test(text):
            words, _ = prose(text, SCOPE)
            assert plain_words(words) == plain
            assert [formula.latex for formula in formulas(words)] == latex


NO_MATHEMATICS = [
    "l2_strategy",
    "mmopt compare",
    "--given D=haar",
    "accuracy",
    "nucler(W)",
    "W @",
    "<= 1",
    "X <= ",
    "W X",
    "x; y",
    "Wᵀ",
    "sum(W",
    " ",
    "(" * 60 + "W" + ")" * 60,
    "X <= 1 for i in n",
]


def test_what_is_no_mathematics_stays(subtests: pytest.Subtests) -> None:
    for quoted in NO_MATHEMATICS:
        with subtests.test(quoted):
            text = f"before `{quoted}` after"
            assert prose(text, SCOPE)[0] == (text,)


def test_atoms_with_too_few_arguments_stay(subtests: pytest.Subtests) -> None:
    for name in FUNCTIONS:
        for inside, count in (("", 0), ("W", 1)):
            with subtests.test(f"{name}({inside})"):
                text = f"`{name}({inside})`"
                is_whole = count == 1 and (name in ("norm", "huber") or ATOMS[name].arity == 1)
                words = prose(text, SCOPE)[0]
                assert bool(formulas(words)) == is_whole
                about = PROGRAM.replace("given", f"about\n    {text}\ngiven", 1)
                assert plain_words(words).strip("`") in explain(Program.parse(about)).text()


def test_a_single_backtick_is_a_character() -> None:
    assert prose("it`s", SCOPE)[0] == ("it`s",)
    assert prose("", SCOPE)[0] == ()
    assert plain_words(prose("it`s no `W.T` of `l2_strategy` and `c`", SCOPE)[0]) == (
        "it`s no Wᵀ of `l2_strategy` and c"
    )
    assert prose("`l2_strategy` W `mmopt compare`", SCOPE)[0] == ("`l2_strategy` W `mmopt compare`",)
    assert plain_words(prose("it`s no`W.T`", SCOPE)[0]) == "it`s noWᵀ"  # what closes nothing may open


def test_what_is_said_to_equal_something_has_its_shape() -> None:
    """A product of vectors is written with the transpose that it means, of matrices with the circle."""
    words, scope = prose("Let `b = W.T @ W @ c`. Then `b @ c`, `b * c`.", SCOPE)
    assert plain_words(words) == "Let b = Wᵀ W c. Then bᵀ c, b ∘ c."
    assert scope.types["b"].is_vector
    assert plain_words(prose("`b @ c`, `b * c`", SCOPE)[0]) == "b c, b c"
    later, _ = prose("`X = c` is `X * X`", SCOPE)  # a name of the program keeps its own
    assert plain_words(later) == "X = c is X ∘ X"


def test_a_definition_that_does_not_fit_gives_no_shape() -> None:
    words, scope = prose("`b = W @ W @ W`", SCOPE)
    assert plain_words(words) == "b = W W W" and "b" not in scope.types
