"""``let`` of what is chosen: the lines with its expression in its place."""

from collections.abc import Callable
from itertools import pairwise

from mmopt.language import Program, check, to_source
from mmopt.language.check.whole_program import MAX_NODES, split_lets

TEXT = """program lets
given
    W: matrix[m, n] = workload.matrix
choose
    X: psd[n, n]
    t: scalar
let
    G = W.T @ W
    Y = X + eye(n)
    Z = [[Y, W.T], [W, t * eye(m)]]
minimize
    trace(G @ inv(Y)) + t
subject to
    block: Z >> 0
    limit: diag(Y) <= 2
repair
    X = X / max(diag(Y))
value
    objective + max(diag(Y))
strategy
    factor(Y) norm 2
certificate d: vector[n] >= 0 from dual(limit), S: psd[n, n] from Y
    trace(S) * sum(d)
"""


def test_only_lets_of_what_is_chosen_are_put_in() -> None:
    program = Program.parse(TEXT)
    given, derived = split_lets(program)
    assert [let.name for let in given] == ["G"] and [let.name for let in derived] == ["Y", "Z"]
    put = check(program).program
    assert put.lets == given and put.objective is not None and put.meaning is not None
    assert to_source(put.objective) == "trace(G @ inv(X + eye(n))) + t"
    assert to_source(put.constraints[0].relation.left) == "[[X + eye(n), W.T], [W, t * eye(m)]]"
    assert to_source(put.constraints[1].relation.left) == "diag(X + eye(n))"
    assert to_source(put.repair[0].expr) == "X / max(diag(X + eye(n)))"
    assert to_source(put.meaning.expr) == "factor(X + eye(n))"
    assert put.value is not None and to_source(put.value) == "objective + max(diag(X + eye(n)))"
    assert put.certificate is not None and put.certificate.multipliers[1].start is not None
    assert to_source(put.certificate.multipliers[1].start) == "X + eye(n)"


def test_a_checked_program_knows_both_forms() -> None:
    checked = check(Program.parse(TEXT))
    assert checked.written == Program.parse(TEXT)
    assert checked.program != checked.written
    assert checked.types["Y"].psd and checked.types["Z"].symmetric


def test_without_such_lets_nothing_changes() -> None:
    program = Program.load("query_weighting")
    assert check(program).program == program


def test_expressions_that_double_are_stopped(refused: Callable[[str, str, str], None]) -> None:
    names = [f"y{i}" for i in range(20)]
    lines = ["    y0 = t", *(f"    {b} = {a} + {a}" for a, b in pairwise(names))]
    lines = [line.replace("y14 = y13 + y13", "y14 = «y13 + y13»") for line in lines]
    text = TEXT.replace("    G = W.T @ W\n", "    G = W.T @ W\n" + "\n".join(lines) + "\n")
    message = f"more than {MAX_NODES} operations when every 'let' is put in"
    refused(text, message, "choose a variable and state the equality as a constraint")
