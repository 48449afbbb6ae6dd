"""A program with places for mistakes, and the check of a mistake's full text."""

from collections.abc import Callable

import pytest

from mmopt.errors import ProgramError
from mmopt.language import Program, check

PROGRAM = """program trial
given
    W: matrix[m, n] = workload.matrix
    G: matrix[n, n] = workload.gram
choose
    X: psd[n, n]
    u: vector[m] >= 0
minimize
    trace(W @ inv(X) @ W.T)
subject to
    s: diag(X) <= 1
strategy
    factor(X) norm 2
"""
SLOTS = {
    "given": "W: matrix[m, n] = workload.matrix",
    "choose": "X: psd[n, n]",
    "objective": "trace(W @ inv(X) @ W.T)",
    "constraint": "s: diag(X) <= 1",
    "strategy": "factor(X) norm 2",
}


@pytest.fixture(scope="session")
def program() -> Callable[..., str]:
    """The program with some of its statements replaced, and more sections at its end."""

    def build(more: str = "", **statements: str) -> str:
        text = PROGRAM
        for slot, statement in statements.items():
            text = text.replace(SLOTS[slot], statement)
        return text + more

    return build


@pytest.fixture(scope="session")
def refused() -> Callable[[str, str, str], None]:
    """Asserts the whole text of the error at the place between « and » (one character when empty)."""

    def assert_refused(marked: str, message: str, hint: str) -> None:
        before, _, rest = marked.partition("«")
        inside = rest.partition("»")[0]
        text = marked.replace("«", "").replace("»", "")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        shown = text.split("\n")[line - 1].replace("\t", " ")
        caret = " " * (column - 1) + "^" * max(1, len(inside))
        expected = [f"t.program:{line}:{column}: {message}"]
        expected += [f"    {shown}", f"    {caret}"] if shown.strip() else []
        expected += [f"  {hint}"] if hint else []
        with pytest.raises(ProgramError) as caught:
            check(Program.parse(text, "t.program"))
        assert str(caught.value) == "\n".join(expected)

    return assert_refused
