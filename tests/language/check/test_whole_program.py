"""A check does not depend on names and order; what it finds in the shipped programs.

Guards names_and_relations.py, infer_types.py.
"""

import re
from itertools import permutations

import numpy as np
import pytest

import mmopt.language
from mmopt import ProgramError
from mmopt.language import Checked, Program, check, program_names, shipped
from mmopt.language.atoms.expression_types import Curvature, Type
from mmopt.language.atoms.table_of_atoms import FUNCTIONS
from mmopt.language.check.names_and_relations import AXES, SOURCES
from mmopt.language.syntax.parse_and_write_expressions import to_source
from mmopt.language.syntax.parse_statements import KINDS, RESERVED
from mmopt.language.syntax.program_sections import SECTIONS

ARGUMENT = re.compile(r"(?<=, )\w+(?==[^=])")
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|#.*|[^\W\d]\w*(?:\.[^\W\d]\w*)*')


def bodies(text: str) -> list[tuple[str, bool]]:
    """Lines, and whether names in them are the program's own: not in prose and headers."""
    out, prose = [], False
    for line in text.split("\n"):
        section = next((s for s in SECTIONS if re.match(rf"{s}\b", line)), "")
        if section:
            prose = section in (
                "program",
                "title",
                "source",
                "class",
                "formulation of",
                "about",
                "proof",
                "bound",
            )
        out.append((line, not prose))
    return out


def renamed(program: Program, rng: np.random.Generator) -> tuple[str, dict[str, str]]:
    """The text with every name and dimension of the program replaced by another."""
    checked = check(program)
    own = {n.split(".")[0] for n in checked.scope.types if n != "objective"} | set(checked.scope.dims)
    own |= {c.name for c in program.constraints}
    own |= {c.family.index for c in program.constraints if c.family}
    own -= {p.name for p in program.search}  # words of the language
    new = dict(zip(sorted(own), (f"z{i}_{'αxΣ'[i % 3]}" for i in rng.permutation(len(own))), strict=True))
    keep = {*FUNCTIONS, *SECTIONS, *KINDS, *RESERVED, "from", "random", "strategy", "T", *program_names()}

    def change(match: re.Match[str]) -> str:
        word = match.group()
        if word[0] in '"#' or word in SOURCES:
            return word
        head, *rest = word.split(".")
        return ".".join([new.get(head, head) if head not in keep else head, *rest])

    lines = []
    for line, own_names in bodies(program.text):
        changed = TOKEN.sub(change, line) if own_names else line
        # The givens of a program that a step calls keep their names.
        keys = iter(ARGUMENT.findall(line) if "solve(" in line else ())
        lines.append(ARGUMENT.sub(lambda m, keys=keys: next(keys, m.group()), changed))
    return "\n".join(lines), new


def shape_of(known: Type, new: dict[str, str]) -> tuple[object, ...]:
    def dim(text: str) -> str:
        return re.sub(r"[^\W\d]\w*", lambda m: new.get(m.group(), m.group()), text)

    dims = tuple(sorted(dim(str(d)).split(" + ")) for d in known.dims)
    return dims, known.is_row, known.sign, known.curvature, known.loewner, known.psd, known.symmetric


def summary(checked: Checked, new: dict[str, str]) -> object:
    def name(old: str) -> str:
        head, *rest = old.split(".")
        return ".".join([new.get(head, head), *rest])

    return (
        {name(k): shape_of(t, new) for k, t in checked.types.items()},
        checked.objective and shape_of(checked.objective, new),
        {name(k): tuple(shape_of(t, new) for t in pair) for k, pair in checked.constraints.items()},
    )


def test_names_and_the_order_of_sections_mean_nothing(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    for name in program_names():
        with subtests.test(name):
            program = Program.load(name)
            lines = program.text.split("\n")
            starts = [i for i, line in enumerate(lines) if line and line[0] not in " #"]
            parts = ["\n".join(lines[a:b]) for a, b in zip(starts, [*starts[1:], len(lines)], strict=True)]
            backwards = Program.parse("\n".join(reversed(parts)))
            assert backwards == program
            text, new = renamed(backwards, rng)
            assert text != backwards.text
            assert summary(check(Program.parse(text)), {}) == summary(shipped(name), new)


def test_order_of_constraints_and_givens_means_nothing() -> None:
    givens = ["W: matrix[m, n] = workload.matrix", "c: vector[m]", "G: psd[n, n] = workload.gram"]
    constraints = ["a: diag(X) <= 1", "b: c @ u <= 1", "d: [[u[i], c[i]], [c[i], u[i]]] >> 0 for i in m"]
    found = set()
    for first, second in zip(permutations(givens), permutations(constraints), strict=True):
        text = [
            "program p",
            "given",
            *(f"    {g}" for g in first),
            "subject to",
            *(f"    {c}" for c in second),
        ]
        text += ["choose", "    X: psd[n, n]", "    u: vector[m]", "minimize", "    trace(G @ inv(X))"]
        text += ["strategy", "    factor(X) norm 2"]
        checked = check(Program.parse("\n".join(text)))
        found.add(
            (
                tuple(sorted(map(repr, checked.types.items()))),
                tuple(sorted(map(repr, checked.constraints.items()))),
            )
        )
    assert len(found) == 1


OBJECTIVES = [
    ("l2_strategy", Curvature.CONVEX, 1),
    ("l2_strategy_lmi", Curvature.AFFINE, 0),
    ("fitness_for_use", Curvature.AFFINE, 0),
    ("query_weighting", Curvature.AFFINE, 1),
]


def test_objectives_of_shipped_programs(subtests: pytest.Subtests) -> None:
    for name, curvature, sign in OBJECTIVES:
        with subtests.test(name):
            objective = check(Program.load(name)).objective
            assert objective is not None
            assert (objective.curvature, objective.sign, objective.dims) == (curvature, sign, ())


def test_types_after_a_check() -> None:
    checked = check(Program.load("fitness_for_use"))
    assert set(checked.types) == {"B", "L", "c", "alpha", "Sigma"}
    assert set(checked.scope.types) == {*checked.types, "p", "q", "objective"}
    assert checked.scope.dims == {"k", "m", "n"}
    left, right = checked.constraints["privacy"]
    assert left.curvature is Curvature.CONVEX and right.curvature is Curvature.AFFINE


def test_every_source_has_its_axes() -> None:
    assert set(AXES) == set(SOURCES)


def test_the_reference_knows_every_word(subtests: pytest.Subtests) -> None:
    for word in (*FUNCTIONS, *KINDS, *SECTIONS):
        with subtests.test(word):
            assert re.search(rf"(?<!\w){word}(?!\w)", str(mmopt.language.__doc__))


def test_the_program_of_the_reference_checks() -> None:
    text = str(mmopt.language.__doc__)
    lines = text[text.index("    program l2") : text.index("``Program.parse")].rstrip().split("\n")
    check(Program.parse("\n".join(line[4:] for line in lines)))


def test_a_shipped_program_is_read_once(subtests: pytest.Subtests) -> None:
    for name in ("l2_strategy", "fitness_for_use"):
        with subtests.test(name):
            assert shipped(name) is shipped(name)
            assert shipped(name).written == Program.load(name)


ANTISYMMETRIC = """program hermitian
given
    C: matrix[n, n]
choose
    P: symmetric[n, n]
    Q: matrix[n, n]
minimize
    trace(P)
subject to
    skew: {line}
    inside: [[P, {block}], [Q, P]] >> 0
"""


@pytest.mark.quick
def test_a_line_makes_a_matrix_antisymmetric(subtests: pytest.Subtests) -> None:
    for line in ("Q == -Q.T", "-Q.T == Q", "Q.T == -Q", "-Q == Q.T", "Q + Q.T == 0"):
        with subtests.test(line):
            check(Program.parse(ANTISYMMETRIC.format(line=line, block="-Q")))
            with pytest.raises(ProgramError):
                check(Program.parse(ANTISYMMETRIC.format(line=line, block="Q")))
    for line in (
        "Q <= -Q.T",
        "Q == Q.T",
        "Q == -C.T",
        "Q[:, 0] == -Q[:, 0]",
        "Q[i, i] == -Q[i, i] for i in n",
    ):
        with subtests.test(line), pytest.raises(ProgramError) as error:
            check(Program.parse(ANTISYMMETRIC.format(line=line, block="-Q")))
        assert "block (2, 1) has to be the transpose of block (1, 2)" in str(error.value)


JOINT = """program joint
given
    A: matrix[m, n]
    S: psd[n, n]
    T: symmetric[n, n]
    g: scalar >= 0
choose
    X: matrix[n, m]
    P: psd[n, n]
    x: vector[n]
minimize
    {}
subject to
    line: A @ X >= 1
    more: A @ x >= 1
"""


@pytest.mark.quick
def test_forms_of_two_that_are_chosen_are_one_atom(subtests: pytest.Subtests) -> None:
    for form, atom in (
        ("trace(X.T @ inv(P) @ X)", "matrix_frac(X, P)"),
        ("trace(inv(P) @ X @ X.T)", "matrix_frac(X, P)"),
        ("trace((X @ A).T @ inv(P + eye(n)) @ X @ A)", "matrix_frac(X @ A, P + eye(n))"),
        ("x.T @ inv(P) @ x", "matrix_frac(x, P)"),
        ("x @ inv(P) @ x", "matrix_frac(x, P)"),
        ("sum(X[:, j] @ inv(P) @ X[:, j] for j in m)", "sum(matrix_frac(X[:, j], P) for j in m)"),
        ("trace(A @ inv(P) @ A.T)", "trace(A @ inv(P) @ A.T)"),
        ("sum(log(1 + exp(-A @ x)))", "sum(logistic(-A @ x))"),
        ("sum(log(exp(x[i]) + 1) for i in n)", "sum(logistic(x[i]) for i in n)"),
        ("x.T @ S @ x", "sum((root(S) @ x)**2)"),
        ("2 * g * x @ S @ x", "2 * g * sum((root(S) @ x)**2)"),
        ("sum(x) + x @ (A.T @ A + S) @ x / 2", "sum(x) + sum((root(A.T @ A + S) @ x)**2) / 2"),
        ("(A @ x - 1).T @ A @ S @ A.T @ (A @ x - 1)", "sum((root(S) @ A.T @ (A @ x - 1))**2)"),
        ("x.T @ inv(S) @ x", "sum((root(inv(S)) @ x)**2)"),
        ("x @ A.T @ A @ x", "sum((A @ x)**2)"),
        ("(A @ x) @ (A @ x)", "sum((A @ x)**2)"),
        ("trace(S @ (X - A.T) @ (X - A.T).T)", "sum((root(S) @ (X - A.T))**2)"),
        ("trace(-X @ X.T) + trace(P @ P)", "-sum(X.T**2) + sum(P**2)"),
        ("sum(X[:, j] @ S @ X[:, j] for j in m)", "sum(sum((root(S) @ X[:, j])**2) for j in m)"),
    ):
        with subtests.test(form):
            checked = check(Program.parse(JOINT.format(form)), {})
            assert checked.program.objective is not None
            assert to_source(checked.program.objective) == atom
    for form in (
        "trace(X @ inv(P) @ X)",
        "trace(A @ inv(P) @ X)",
        "x @ inv(P) @ (x + 1)",
        "trace(X.T @ inv(P) @ inv(P) @ X)",
        "x.T @ T @ x",
        "x.T @ P @ x",
        "x.T @ S @ (x + 1)",
        "x.T @ A.T @ S @ x",
        "sqrt(x) @ S @ sqrt(x)",
        "trace(X @ A @ X @ A)",
        "-x.T @ S @ x",
    ):
        with subtests.test(form), pytest.raises(ProgramError):
            check(Program.parse(JOINT.format(form)))
