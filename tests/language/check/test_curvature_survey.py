"""The tree of types of every line, and the node to blame when a line is not convex."""

from collections.abc import Iterator

import pytest

from mmopt.errors import ProgramError
from mmopt.language import ATOMS, Program, check, program_names, shipped, to_source
from mmopt.language.atoms.expression_types import Curvature
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.check.curvature_survey import LineSurvey, TypedNode, describe, survey
from mmopt.language.check.infer_types import infer

TEXT = """program trial
given
    W: matrix[m, n] = workload.matrix
    G: psd[n, n] = workload.gram
    c: vector[n] > 0
    d: vector[n]
choose
    X: psd[n, n]
    u: vector[n] >= 0
    t: scalar
{sense}
    {objective}
subject to
    line: {line}
strategy
    factor(X) norm 2
"""


def parsed(objective: str = "t", line: str = "t <= 1", sense: str = "minimize") -> Program:
    return Program.parse(TEXT.format(objective=objective, line=line, sense=sense), "trial.program")


def walk(node: TypedNode) -> Iterator[TypedNode]:
    yield node
    for part in node.parts:
        yield from walk(part)


def test_nodes_and_sides_have_the_types_that_the_check_infers(subtests: pytest.Subtests) -> None:
    for name in program_names():
        with subtests.test(name):
            surveyed, checked = survey(Program.load(name)), shipped(name)
            assert checked.program.problem_class == "procedure" or surveyed.lines
            for line in surveyed.lines:
                scope = checked.lines.inside(line.constraint.family if line.constraint else None)
                for node in (n for side in line.sides for n in walk(side)):
                    assert node.type == infer(node.expr, scope), to_source(node.expr)
                    assert node.rule, to_source(node.expr)
                assert (line.fault, line.blamed) == (None, None)
                judged = checked.constraints[line.name] if line.constraint else (checked.objective,)
                assert [side.type.curvature for side in line.sides] == [known.curvature for known in judged]


# expression, its curvature, the rule at the top, its parts
RULES = [
    (
        "trace(W @ inv(X) @ W.T)",
        "convex",
        "trace keeps the curvature in the order of psd matrices",
        ["W @ inv(X) @ W.T"],
    ),
    (
        "trace(G @ inv(X))",
        "convex",
        "tr(P F) with P ⪰ 0 keeps the curvature that F has in the order of psd matrices",
        ["G", "inv(X)"],
    ),
    (
        "d.T @ (inv(X) + X) @ d",
        "convex",
        "Mᵀ F M keeps the curvature that F has in the order of psd matrices",
        ["d.T", "inv(X) + X", "d"],
    ),
    ("sum(u**2)", "convex", "sum keeps the curvature", ["u**2"]),
    ("max(u**2)", "convex", "max is convex and increasing, its argument is convex", ["u**2"]),
    (
        "norm(u)**2",
        "convex",
        "the power 2 is convex and increasing for numbers ≥ 0, its argument is convex",
        ["norm(u)"],
    ),
    ("sum(1 / u)", "convex", "sum keeps the curvature", ["1 / u"]),
    ("-t", "affine", "minus is linear", ["t"]),
    ("-sum(sqrt(u))", "convex", "minus turns the curvature", ["sum(sqrt(u))"]),
    ("c @ u**2", "convex", "times a constant ≥ 0 keeps the curvature", ["c", "u**2"]),
    ("-2 * sum(sqrt(u))", "convex", "times a constant ≤ 0 turns the curvature", ["-2", "sum(sqrt(u))"]),
    ("t + sum(u**2)", "convex", "a sum of affine and convex parts", ["t", "sum(u**2)"]),
    ("t - sum(sqrt(u))", "convex", "affine minus concave", ["t", "sum(sqrt(u))"]),
    (
        "quad_over_lin(u, sqrt(t))",
        "convex",
        "quad_over_lin is convex and decreasing, its argument is concave",
        ["u", "sqrt(t)"],
    ),
    ("nuclear(X)", "convex", "nuclear is convex, its argument is affine", ["X"]),
    ("sum(eye(n) @ u)", "affine", "sum is linear", ["eye(n) @ u"]),
    ("c @ abs(G) @ exp(u)", "convex", "times a constant ≥ 0 keeps the curvature", ["c", "abs(G)", "exp(u)"]),
    ("sum(c)", "constant", "contains no variable", ["c"]),
]


def test_rules_in_words(subtests: pytest.Subtests) -> None:
    for expression, curvature, rule, parts in RULES:
        with subtests.test(expression):
            (node,) = survey(parsed(expression)).lines[0].sides
            assert (node.type.curvature.value, node.rule) == (curvature, rule)
            assert [to_source(part.expr) for part in node.parts] == parts


def test_names_say_what_they_are() -> None:
    program = Program.load("query_weighting")
    (node,) = survey(program).lines[0].sides
    assert [part.rule for part in node.parts] == ["computed from data", "a variable"]
    text = program.text.replace("[[u[i], 1], [1, v[i]]] >> 0", "u[i] * k <= 1")
    family = survey(Program.parse(text)).lines[1]
    assert [part.rule for part in family.sides[0].parts] == ["entries of an affine expression", "a dimension"]


# sense, objective, constraint: the name of the line, the part to blame, why
BAD = [
    (
        "minimize",
        "trace(W @ inv(X) @ W.T) - sum(u**2)",
        "t <= 1",
        "",
        0,
        "a sum of a convex and a concave part",
    ),
    ("minimize", "sum(sqrt(u))", "t <= 1", "", "sum(sqrt(u))", "it is concave"),
    ("maximize", "trace(inv(X))", "t <= 1", "", "trace(inv(X))", "it is convex"),
    (
        "minimize",
        "t + sum(sqrt(abs(u - c)))",
        "t <= 1",
        "",
        "sqrt(abs(u - c))",
        "an increasing concave function of a convex expression",
    ),
    ("minimize", "t", "diag(X) * u <= 1", "line", "diag(X) * u", "a product of two expressions"),
    ("minimize", "t", "sum(d * sqrt(u)) <= t", "line", "d * sqrt(u)", "a factor of unknown sign"),
    ("minimize", "t", "t**2 >= 1", "line", "t**2", "it is convex"),
    ("minimize", "t", "t**2 == 1", "line", "t**2", "both sides of '==' have to be affine, but it is convex"),
    ("minimize", "t", "inv(X) <= 1", "line", "inv(X)", "it is convex as a whole"),
]


def test_the_node_to_blame(subtests: pytest.Subtests) -> None:
    for sense, objective, line, name, blamed, why in BAD:
        with subtests.test(objective + line):
            program = parsed(objective, line, sense)
            surveyed = survey(program)
            bad = [found for found in surveyed.lines if found.fault]
            assert [found.name for found in bad] == [name]
            assert _blamed(bad[0]) == (objective if blamed == 0 else blamed)
            with pytest.raises(ProgramError) as error:
                check(program)
            assert str(bad[0].fault) == str(error.value) and why in str(error.value)
            nodes = [node for side in bad[0].sides for node in walk(side)]
            assert sum(node is bad[0].blamed for node in nodes) == 1


def _blamed(line: LineSurvey) -> str:
    assert line.blamed is not None
    return to_source(line.blamed.expr)


def test_every_fault_is_found() -> None:
    program = parsed("sum(sqrt(u))", "t**2 >= 1")
    assert [bool(line.fault) for line in survey(program).lines] == [True, True]


def test_what_is_above_the_blamed_node_says_so() -> None:
    (node,) = survey(parsed("1 + sum(d * sqrt(u))")).lines[0].sides
    *above, last = [n for n in walk(node) if n.type.curvature is Curvature.UNKNOWN]
    assert {n.rule for n in above} == {"a part of it is neither by the rules"}
    assert last.rule == "a concave expression times a factor of unknown sign"


def test_names_and_shapes_have_to_fit(subtests: pytest.Subtests) -> None:
    for line in ("v <= 1", "u @ W <= c", "W <= X"):
        with subtests.test(line):
            with pytest.raises(ProgramError) as error:
                survey(parsed("sum(sqrt(u))", line))
            assert error.value.where is not None and error.value.where.line == 14


def test_every_atom_has_a_rule_in_words() -> None:
    """Applied to what is chosen, each atom says something, whatever becomes of the curvature."""
    shapes = {"diag": "X", "stack": "X, X", "used_rows": "X, u", "eye": "n", "ones": "n"}
    shapes |= {
        "consecutive": "c, 2",
        "leading": "c, 2",
        "toeplitz": "c",
        "windows": "c, 2",
        "support": "c",
        "rel_entropy": "u, u",
        "quad_over_lin": "u, t",
        "matrix_frac": "u, X",
        "sum_largest": "u, 2",
        "lambda_sum_largest": "X, 2",
        "kron": "X, W",
        "cumsum": "u",
        "diff": "u",
    }
    for name, atom in ATOMS.items():
        is_called = atom.binds == 9 and name in FUNCTIONS
        argument = "u" if name in ("norm 1", "norm 2", "norm inf") else "X"
        call = f"{name}({shapes.get(name, 'X')})" if is_called else atom.text.format(*[argument] * atom.arity)
        expression = {"pow": "X**2", "div": "X / 2"}.get(name, call)
        checked = check(parsed())
        expr = Program.parse(TEXT.format(objective="t", line=f"sum({expression}) <= 1", sense="minimize"))
        node = describe(checked, expr.constraints[0].relation.left)
        assert all(n.rule for n in walk(node)), name
