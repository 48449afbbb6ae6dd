"""Every mistake in the sections around the optimisation: place (between « and ») and full text."""

from __future__ import annotations

from collections.abc import Callable

import pytest

# Marked section, message, hint.
SECTIONS = [
    ("repair\n    «Y» = X", "'Y' is not chosen; a repair changes what is chosen", "known: X, u"),
    ("repair\n    X = «X @ u»", "a matrix (n, n) @ a vector of length m: n columns meet m rows", ""),
    ("repair\n    «W» = W", "'W' is not chosen; a repair changes what is chosen", "known: X, u"),
    ("repair\n    «X»: psd[n, n] = X", "'X' is declared a second time", "write: X = expression"),
    ("repair\n    «X == X»", "an assignment is expected", "write: name = expression"),
    ("repair\n    «X»", "an assignment is expected", "write: name = expression"),
    ("repair\n    X =«»", "an expression is missing here", ""),
    (
        "repair\n    «X[0, 0]» = 1",
        "'X[0, 0]' is not a name",
        "letters, digits and _, not beginning with a digit",
    ),
    (
        "repair\n    u = «W[0, :]»",
        "'u' would be a row of length n; a named vector is a column",
        "name the column and write u.T where a row is meant",
    ),
    ("repair\n    X = «W»", "'X' is a matrix (n, n); the repair makes it a matrix (m, n)", ""),
    ("repair\n     «=» X", "a name is missing here", "letters, digits and _, not beginning with a digit"),
    ("certificate d: vector[n] >= 0 from dual(«t»)\n    sum(d)", "there is no constraint 't'", "known: s"),
    (
        "certificate d: vector[«m»] >= 0 from dual(s)\n    sum(d)",
        "'s' has n multipliers, 'd' is declared with m",
        "",
    ),
    (
        "certificate «d»: vector[n] from dual(s)\n    sum(d)",
        "the multiplier of 's' is a number, a vector or a matrix, and >= 0",
        "write d: vector[n] >= 0 (that of an equality is free, that of X >> 0 psd)",
    ),
    (
        "certificate d: vector[n] >= 0 from «s»\n    sum(d)",
        "'s' is a constraint",
        "write: from dual(s)",
    ),
    (
        "certificate d: vector[n] >= 0 from «dual(s, t)»\n    sum(d)",
        "a multiplier starts from a constraint",
        "write: from dual(name)",
    ),
    (
        "certificate d: vector[n] >= 0 from dual(«s»)[1, 1]\n    sum(d)",
        "'s' has no blocks",
        "write dual(name) without [ ]",
    ),
    (
        "certificate d: vector[n] >= 0 from «dual(s)[0, 1]»\n    sum(d)",
        "a multiplier of a psd block is one of a diagonal block",
        "write: dual(name)[1, 1]",
    ),
    (
        "certificate Y: matrix[n, n] from «X @ W.T»\n    1",
        "'Y' is declared a matrix (n, n), its start is a matrix (n, m)",
        "",
    ),
    ("certificate «s»: matrix[n, n] from X\n    1", "'s' is defined twice", "give one of them another name"),
    (
        "certificate Y: matrix[n, n] from X\n    trace(Y @ «X»)",
        "'X' is not defined",
        "a bound holds whatever is chosen, so it uses what is given",
    ),
    ("certificate d: vector[n] >= 0\n    «d»", "a bound is a number, this is a vector of length n", ""),
    ("«certificate» d: vector[n] >= 0", "a certificate ends with an expression, the bound", ""),
    (
        "certificate trace(«X»)",
        "'X' is not defined",
        "a bound holds whatever is chosen, so it uses what is given",
    ),
    (
        "certificate d: vector[n] >= 0\n    «sum(d)»\n    sum(d)",
        "a certificate lists its multipliers, then one expression",
        "",
    ),
    ("certificate «X»: vector[n] >= 0\n    1", "'X' is defined twice", "give one of them another name"),
    (
        "certificate «lambda»: vector[n] >= 0\n    1",
        "'lambda' is a word of Python and cannot be a name",
        "call the multiplier mu, d or p",
    ),
    (
        "certificate «d»: psd[n, n]\n    1",
        "a multiplier is a number, a vector or a matrix, and >= 0",
        "write d: matrix[n, n] >= 0 (that of an equality is free, that of X >> 0 psd)",
    ),
    (
        "certificate «d»: scalar >= 0 from dual(s)\n    d",
        "'s' has n multipliers, 'd' is declared with one",
        "",
    ),
    (
        "«bound» l2_strat",
        "there is no program 'l2_strat' whose bound could hold",
        "did you mean 'l2_strategy'?",
    ),
    ("value «X»", "the value of a program is a number, this is a matrix (n, n)", ""),
    (
        "require\n    trace(«X») >= 0",
        "'X' is not defined",
        "'require' uses what is given, not what is chosen",
    ),
    (
        "from strategy «A»: psd[n, n]\n    X = A",
        "a strategy is a plain matrix",
        "write: A: matrix[p, n]",
    ),
    (
        "from strategy A: matrix[p, «m»]\n    X = A.T @ A",
        "a strategy has a column per cell (n), 'A' has m",
        "",
    ),
    (
        "from strategy A: matrix[p, n]\n    «Y» = A",
        "'Y' is not chosen; a point from a strategy changes what is chosen",
        "known: X, u",
    ),
    (
        "«from strategy» A: matrix[p, n]",
        "'from strategy' says what the chosen variables are",
        "for example X = A.T @ A, below it",
    ),
    (
        "«from strategy»\n    X = W",
        "'from strategy' begins with the strategy's name",
        "write: from strategy A: matrix[p, n]",
    ),
    (
        "«start»\n    random",
        "section 'start' has no place in a program of class 'convex'",
        "a search from several starts belongs to 'class smooth'",
    ),
    ("let\n    «W» = 3", "'W' is defined twice", "give one of them another name"),
    (
        "let\n    r = «W[0, :]»",
        "'r' would be a row of length n; a named vector is a column",
        "name the column and write r.T where a row is meant",
    ),
    (
        "let\n    a: vector[«n»] = sum(W, axis=1)",
        "'a' is declared a vector of length n and is a vector of length m",
        "",
    ),
    (
        "let\n    «a»: vector[n] >= 0 = sum(W, axis=0)",
        "'a' is declared >= 0, which does not follow from its expression",
        "declare it without, or write it so that it shows (W.T @ W is psd)",
    ),
    (
        "let\n    Q: matrix[«n», n] = used_rows(W, sum(W, axis=1))",
        "the number of rows is known only with the numbers, it cannot be stated as 'n'",
        "give it a new name, for example k",
    ),
    (
        "let\n    «Q»: psd[n, n] = G - G",
        "'Q' is declared psd, which does not follow from its expression",
        "declare it without, or write it so that it shows (W.T @ W is psd)",
    ),
    ("let\n    Q: matrix[n, «q»] = G", "the dimension 'q' is not defined", "known: m, n"),
    ("parameter\n    q: dim = «1.5»", "'1.5' is not a dimension", "made of names, whole numbers, + - and *"),
    ("parameter\n    «n»: dim = 2", "'n' is a dimension already", "give it another name"),
    (
        "parameter\n    «q» = W",
        "a parameter is a number unless declared, this is a matrix (m, n)",
        "write its kind: q: matrix[m, n] = …",
    ),
    ("require\n    W «>» 0", "'>' describes a set that is not closed", "write >="),
    (
        "class «linear»",
        "class 'linear' is not one of those that this version solves",
        "known: convex, rank, smooth, closed form, procedure",
    ),
    (
        "«class» rank",
        "a program of class 'rank' has one rank constraint, this has 0",
        "write: exact: rank(Z) == p",
    ),
    ("language «2»", "language '2' is not one that this version reads", "known: 1"),
    ("title «no quotes»", 'a text in quotes is expected: "…"', ""),
    ('title «"a" "b"»', 'a text in quotes is expected: "…"', ""),
    ('title «"bad \\N{x}"»', "this text in quotes cannot be read", "write \\\\ for a backslash"),
    ("«maximize»\n    sum(u)", "a program has one objective; this is a second", ""),
    (
        "«steps»\n    a = 3",
        "section 'steps' has no place in a program of class 'convex'",
        "steps belong to 'class procedure'",
    ),
    ("«covariance»\n    X on W", "a solution is a strategy or a covariance, not both", ""),
    ("«given»\n    V: matrix[m, n]", "section 'given' stands here a second time", "put both parts together"),
    ("«program» again", "section 'program' stands here a second time", "put both parts together"),
    ("«title»", "section 'title' is empty", ""),
    (
        "repair X = X\n\tX = X\n\u00ab    \u00bbX = X",
        "this line mixes tabs and spaces",
        "indent with spaces only",
    ),
]


@pytest.mark.parametrize(("marked", "message", "hint"), SECTIONS)
def test_mistake_in_a_section(
    marked: str,
    message: str,
    hint: str,
    program: Callable[..., str],
    refused: Callable[[str, str, str], None],
) -> None:
    refused(program(marked), message, hint)
