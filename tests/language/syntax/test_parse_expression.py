"""Every mistake in an expression, with its place (between « and ») and the full text of its error."""

# ruff: noqa: E501 - a message stands on one line, as it is printed

from __future__ import annotations

from collections.abc import Callable

import pytest

from mmopt.language.atoms.table_of_atoms import FUNCTIONS

# Marked objective, message, hint.
EXPRESSIONS = [
    ("trace(W @ inv(«Y») @ W.T)", "'Y' is not defined", "known: G, W, X, m, n, u"),
    ("«trac»(W @ inv(X) @ W.T)", "there is no atom 'trac'", "did you mean 'trace'?"),
    ("«tr»(G)", "there is no atom 'tr'", "write trace(X)"),
    ("trace(«W @ inv(X) @ W»)", "a matrix (m, n) @ a matrix (m, n): n columns meet m rows", ""),
    (
        "sum(«inv(X) @ inv(X)»)",
        "the objective of 'minimize' has to be convex, and here is a product of two expressions that both depend on what is chosen",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("«inv(X) @ inv(X)»", "an objective is a number, this is a matrix (n, n)", "take a sum, trace or max"),
    (
        "trace(«inv(X) @ inv(X)»)",
        "the objective of 'minimize' has to be convex, and here is a product of two expressions that both depend on what is chosen",
        "the rules: python -m pydoc mmopt.language",
    ),
    (
        "«trace(G @ inv(X))»",
        "the objective of 'minimize' has to be convex, and here is the trace of a convex matrix against one not known to be psd (write W.T @ W)",
        "the rules: python -m pydoc mmopt.language",
    ),
    (
        "«sum(u) * sum(u)»",
        "the objective of 'minimize' has to be convex, and here is a product with itself (a square is written x**2)",
        "the rules: python -m pydoc mmopt.language",
    ),
    (
        "«sum(sqrt(u))»",
        "the objective of 'minimize' has to be convex, and it is concave",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("sum(u) «^» 2", "'^' is not a power", "write **"),
    ("«lambda» x: x", "'lambda' is a word of Python and cannot be a name", "call the multiplier mu, d or p"),
    (
        "sum(u «for» u in m)",
        "'for' cannot stand inside an expression",
        "a family of constraints ends with: for j in m",
    ),
    (
        "[x «for» x in m]",
        "'for' cannot stand inside an expression",
        "a family of constraints ends with: for j in m",
    ),
    ("trace«(»W @ inv(X) @ W.T", "this '(' is not closed", "its partner ')' is missing"),
    ("trace(W @ inv(X)) @ W.T«)»", "this ')' closes nothing", "no bracket is open here"),
    ("trace(W«]» @ X)", "this ']' meets an open '('", "')' closes it"),
    ("«'»abc", "this quote is not closed", "a text in quotes ends on the line on which it begins"),
    ('«"abc"»', "a text in quotes cannot stand in an expression", ""),
    ("«W[0]»", "a matrix (m, n) takes two indices, not 1", ""),
    ("«W[0, 0, 0]»", "a matrix (m, n) takes two indices, not 3", ""),
    ("«u[0, 1]»", "a vector of length m takes one index, not 2", ""),
    ("«sum(u)[0]»", "a number takes no index, not 1", ""),
    (
        "W[«u», :]",
        "an index is a whole number or the index of a family",
        "write W[0, :], or W[j, :] with 'for j in m' after the constraint",
    ),
    (
        "W[«0.5», :]",
        "an index is a whole number or the index of a family",
        "write W[0, :], or W[j, :] with 'for j in m' after the constraint",
    ),
    (
        "W[«-1», :]",
        "an index is a whole number or the index of a family",
        "write W[0, :], or W[j, :] with 'for j in m' after the constraint",
    ),
    (
        "W[«m», 0]",
        "an index is a whole number or the index of a family",
        "write W[0, :], or W[j, :] with 'for j in m' after the constraint",
    ),
    ("x «if» y else z", "'if' cannot stand in an expression", "a program has one meaning for all data"),
    ("u «and» u", "'and' cannot stand in an expression", "write two constraints"),
    ("«not» u", "'not' is a word of Python and has no meaning here", ""),
    ("sum(u) «//» 2", "'//' has no meaning here", "write /"),
    ("sum(u) «%» 2", "'%' has no meaning here", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("a «b»", "an operator is missing before 'b'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("sum(u) «+»", "nothing stands after '+'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("«*» sum(u)", "nothing stands before '*'", "write a name or a number there"),
    ("sum(u) + «*» 2", "nothing stands between '+' and '*'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    (
        "«sum()»",
        "'sum' takes 1 argument, not 0",
        "Sum of all entries, or along an axis (axis=0: one per column).",
    ),
    ("«sum(u, 0)»", "'sum' takes 1 argument, not 2", "write axis=0 or axis=1"),
    ("sum(u, «axis=2»)", "'sum' takes no such option", "axis=0 or axis=1 is meant"),
    ("«sum(u, axis=0)»", "axis is for a matrix, this is a vector of length m", ""),
    ("«trace(X, axis=0)»", "'trace' takes no axis", "Sum of the diagonal."),
    ("max(u, «key=1»)", "'max' takes no such option", "axis=0 or axis=1 is meant"),
    ("«np.sum»(u)", "only an atom can be called, by its bare name", "write sum(…)"),
    ("«np.linalg.inv»(X)", "only an atom can be called, by its bare name", "write inv(…)"),
    ("«X.inv»", "'X.inv' is not defined", "known: G, W, X, m, n, u"),
    ("«X.t»()", "only an atom can be called", "a product is written with * or @"),
    (
        "«u»(1)",
        "there is no atom 'u'",
        "known: " + ", ".join(sorted(FUNCTIONS)),
    ),
    ("2 «sum»(u)", "an operator is missing before 'sum'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("sum(u)«;» sum(u)", "';' has no meaning here", "write one statement a line"),
    ("sum(u)«,» sum(u)", "',' cannot stand between two expressions here", "write one statement a line"),
    ("«(sum(u), 1)»", "a list in round brackets has no meaning here", "a block matrix is [[A, B], [C, D]]"),
    ("«{»1: 2}", "'{' has no meaning here", "write ( ) for grouping, [ ] for an index or a block matrix"),
    ("«[1, 2]»", "a block matrix is a list of rows", "write [[A, B], [C, D]]"),
    ("«[[1, 2], [3]]»", "the rows of this block matrix have 2, 1 entries; all need as many", ""),
    (
        "sum(u) «<=» 1",
        "'<=' stands here where an expression is expected",
        "relations stand under 'subject to' and 'require'",
    ),
    ("sum(u) «=» 1", "'=' stands here where an expression is expected", "write =="),
    (
        "sum(u) «>>» 0",
        "'>>' stands here where an expression is expected",
        "relations stand under 'subject to' and 'require'",
    ),
    ("«1e400»", "a number of more than 1e+300", "divide both sides by a unit"),
    ("x «:=» 3", "':=' has no meaning here", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("sum(«*»u)", "nothing stands before '*'", "write a name or a number there"),
    ("sum(u«²»)", "the character '²' has no meaning here", "write **2"),
    ("sum(u) «−» 1", "the character '−' has no meaning here", "write -"),
    ("sum(«“»u”)", "the character '“' has no meaning here", 'write "'),
    ("sum(u)\u00ab\u00a0\u00bb+ 1", "the character U+00A0 has no meaning here", "write a plain space"),
    ("W[«:1», :]", "only a whole ':' can stand in an index", "write W[j, :] or B[:, i]"),
    (
        "«X ** -1»",
        "the power -1 of a matrix",
        "the matrix inverse is inv(X), the matrix square root root(X), entry by entry it is sqrt(X)",
    ),
    (
        "sum(«X ** 0.5»)",
        "the power 0.5 of a matrix",
        "the matrix inverse is inv(X), the matrix square root root(X), entry by entry it is sqrt(X)",
    ),
    ("«u ** u»", "an exponent is a plain number", "for example x**2"),
    ("«1 / X»", "a number divided by a matrix (n, n)", "for the matrix inverse write inv(X)"),
    ("«W @ 2»", "a matrix (m, n) @ a number: '@' multiplies vectors and matrices", "write * for a number"),
    ("«u + W»", "a vector of length m does not fit a matrix (m, n)", ""),
    ("«u + u.T»", "a vector of length m does not fit a row of length m", "turn one of them with .T"),
    (
        "«u @ u.T»",
        "a vector of length m @ a row of length m: a column times a row is a matrix on paper and a number in numpy",
        "the inner product is u @ v; an outer product is not in the language",
    ),
    ("«inv(W)»", "inv needs a square matrix, this is a matrix (m, n)", ""),
    ("«trace(W)»", "trace needs a square matrix, this is a matrix (m, n)", ""),
    ("«nuclear(u)»", "nuclear needs a matrix, this is a vector of length m", ""),
    ("«root(W.T)»", "root needs a square matrix, this is a matrix (n, m)", ""),
    (
        "sum(«1 / sum(X)»)",
        "the objective of 'minimize' has to be convex, and here is a quotient that is not (a constant >= 0) / (something concave and >= 0)",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("«-inv(X)»", "an objective is a number, this is a matrix (n, n)", "take a sum, trace or max"),
    ("«diag(u) @ X»", "a matrix (m, m) @ a matrix (n, n): m columns meet n rows", ""),
    ("«X»", "an objective is a number, this is a matrix (n, n)", "take a sum, trace or max"),
    (
        "«sum(inv(X))»",
        "the objective of 'minimize' has to be convex, and here is a sum or an extreme of the entries of a matrix that is curved as a whole",
        "the rules: python -m pydoc mmopt.language",
    ),
    (
        "«max(inv(X))»",
        "the objective of 'minimize' has to be convex, and here is a sum or an extreme of the entries of a matrix that is curved as a whole",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("sum(«W * inv(G)» )", "a matrix (m, n) does not fit a matrix (n, n)", ""),
    (
        "«inv(X)[0,0]»",
        "the objective of 'minimize' has to be convex, and here is an entry of a matrix that is curved as a whole (its diagonal is diag(F))",
        "the rules: python -m pydoc mmopt.language",
    ),
    ("eye(«k»)", "'k' is not a dimension", "known: m, n"),
    ("trace(«eye(2*n) @ X»)", "a matrix (2*n, 2*n) @ a matrix (n, n): 2*n columns meet n rows", ""),
    ("eye(«u»)", "'u' is not a dimension", "known: m, n"),
    (
        "((((((((((((((((((((((((((((((((((((((((«(»((((u)))))))))))))))))))))))))))))))))))))))))))))",
        "more than 40 brackets inside each other",
        "split it with 'let'",
    ),
    ("«True»", "'True' is a word of Python and has no meaning here", ""),
    ("1«j»", "an operator is missing before 'j'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("«.»..", "nothing stands before '.'", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("«u.T.x»", "'.x' has no meaning here", "the transpose is written X.T"),
    ("sum(«u.shape»)", "'u.shape' is not defined", "known: G, W, X, m, n, u"),
    ("f«'{u}'»", "a text in quotes cannot stand in an expression", ""),
    ("u «if»", "'if' cannot stand in an expression", "a program has one meaning for all data"),
    ("«lambda»", "'lambda' is a word of Python and cannot be a name", "call the multiplier mu, d or p"),
    (
        "sum(u)\n    «+» \n      sum(v)",
        "section 'minimize' takes one statement; this is a second",
        "a longer statement goes on in open brackets, or in lines indented deeper",
    ),
    ("«$»x", "'$' has no meaning here", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("sum(u) «!»", "'!' has no meaning here", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("«\\»", "'\\' has no meaning here", "the operators are + - * / ** @ [ ] ( ) and .T"),
    ("u «?» 1 : 2", "'?' has no meaning here", "the operators are + - * / ** @ [ ] ( ) and .T"),
]


@pytest.mark.parametrize(("marked", "message", "hint"), EXPRESSIONS)
def test_mistake_in_an_objective(
    marked: str,
    message: str,
    hint: str,
    program: Callable[..., str],
    refused: Callable[[str, str, str], None],
) -> None:
    refused(program(objective=marked), message, hint)
