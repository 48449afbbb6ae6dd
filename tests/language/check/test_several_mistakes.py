"""Several mistakes are said at once, each as it is alone, in the order of the text, without what follows.

Guards source_text.py, whole_program.py and program.py.
"""

from itertools import combinations

import pytest

import mmopt
from mmopt.language import Program, check

TEXT = """program several
given
    W: matrix[m, n] = workload.matrix
parameter
    c = 2.0
choose
    X: psd[n, n]
    t: scalar
let
    s = c * t
minimize
    trace(X) + s
subject to
    cells: diag(X) <= t
    least: t >= 1
    whole: sum(X) <= 9
"""
# What is written in place of a line: mistakes of statements, then of names, shapes and curvature.
STATEMENTS = {
    "    W: matrix[m, n] = workload.matrix": "    W: matrx[m, n] = workload.matrix",
    "    X: psd[n, n]": "    X: psd[n, n",
    "    s = c * t": "    s = c * (t",
    "    cells: diag(X) <= t": "    cells: diag(X)",
    "    least: t >= 1": "    least: nothing(t) >= 1",
}
NAMES = {
    "    W: matrix[m, n] = workload.matrix": "    W: matrix[m, n] = workload.nothing",
    "    c = 2.0": "    c = [[1.0, 2.0]]",
    "    t: scalar": "    t: vector[k]",
    "    s = c * t": "    s = c * q",
    "    trace(X) + s": "    trace(X @ t @ X) + s",
    "    cells: diag(X) <= t": "    cells: diag(X) <= W",
    "    least: t >= 1": "    least: u >= 1",
    "    whole: sum(X) <= 9": "    whole: sum(X) <= v",
}
CURVED = {
    "    trace(X) + s": "    sqrt(t) + s",
    "    cells: diag(X) <= t": "    cells: diag(X) <= t**2",
    "    least: t >= 1": "    least: t**2 >= 1",
    "    whole: sum(X) <= 9": "    whole: t * X[0, 0] <= 9",
}
# What a mistaken line defines, and the lines that use it: their other mistakes may be said later.
USES = {
    "    s = c * t": ("    trace(X) + s",),
    "    W: matrix[m, n] = workload.matrix": ("    t: scalar", "    cells: diag(X) <= t"),
    "    c = 2.0": ("    s = c * t", "    trace(X) + s"),
    "    t: scalar": ("    s = c * t", "    trace(X) + s", "    cells: diag(X) <= t"),
}


def mistakes(*edits: tuple[str, str]) -> list[mmopt.ProgramError]:
    text = TEXT
    for line, other in edits:
        assert text.count(f"{line}\n") == 1
        text = text.replace(f"{line}\n", f"{other}\n")
    with pytest.raises(mmopt.ProgramError) as raised:
        check(Program.parse(text, "several.program"))
    return [raised.value, *raised.value.others]


@pytest.mark.parametrize("table", [STATEMENTS, NAMES, CURVED], ids=["statements", "names", "curved"])
def test_two_mistakes_are_two_that_are_said_alone(table: dict[str, str]) -> None:
    for edits in combinations(table.items(), 2):
        if edits[1][0] in USES.get(edits[0][0], ()):
            continue
        alone = [mistakes(edit) for edit in edits]
        assert [len(errors) for errors in alone] == [1, 1], edits
        together = mistakes(*edits)
        assert [(e.message, e.where) for e in together] == [(e.message, e.where) for (e,) in alone], edits


def test_all_are_printed_in_the_order_of_the_text() -> None:
    first, *others = mistakes(*CURVED.items())
    assert [e.where.line for e in (first, *others) if e.where] == [12, 14, 15, 16]
    assert [str(first).count(str(e)) for e in others] == [1, 1, 1]


def test_what_follows_from_a_mistake_is_not_said() -> None:
    (error,) = mistakes(("    t: scalar", "    t: vector[k]"))
    assert "'k'" in error.message
    (error,) = mistakes(("    W: matrix[m, n] = workload.matrix", "    W: dim"))  # n has no origin then
    assert "'W'" in error.message


def test_very_many_are_counted() -> None:
    lines = "".join(f"    c{i}: t >= q{i}\n" for i in range(20))
    text = TEXT.replace("    least: t >= 1\n", lines)
    with pytest.raises(mmopt.ProgramError) as raised:
        check(Program.parse(text, "several.program"))
    assert len(raised.value.others) == 19
    assert str(raised.value).endswith("and 11 more mistakes")


def test_a_name_that_is_missing_is_said_once() -> None:
    first, *others = mistakes(
        ("    cells: diag(X) <= t", "    cells: diag(X) <= q"), ("    least: t >= 1", "    least: q >= 1")
    )
    assert not others
    assert first.hint.endswith("; also on line 15")


def test_what_uses_a_mistake_is_searched_for_its_own() -> None:
    first, second = mistakes(
        ("    s = c * t", "    s = c @ t"), ("    trace(X) + s", "    trace(X @ W.T @ W @ u) + s")
    )
    assert first.where
    assert second.where
    assert (first.where.line, second.where.line) == (10, 12)


def test_statements_come_before_names() -> None:
    _, second = mistakes(*[*STATEMENTS.items()][1:3])
    assert second.hint.endswith("names and shapes are checked once these are fixed")
