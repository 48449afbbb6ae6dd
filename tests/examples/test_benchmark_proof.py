"""Optima enclosed with proof: of problems whose optimum is known, and where there is no proof."""

from fractions import Fraction

import numpy as np
import pytest
from flint import arb, ctx, fmpq

from mmopt import ResultError
from tests.examples.scripts import scripts

suite = scripts("benchmark")
exact_problem, proved, enclosed = (
    suite.cbf_file.exact_problem,
    suite.proved_interval.proved,
    suite.proved_optimum.enclosed,
)

HEAD = "VER\n3\n\nOBJSENSE\n{sense}\n\nVAR\n{n} 1\nF {n}\n"
# maximize x0 + x1 with 3 x0 + x1 <= 1, x0 + 3 x1 <= 1, as -A x + b >= 0: 1 / 2.
LINEAR = (
    HEAD.format(sense="MAX", n=2) + "\nCON\n2 1\nL+ 2\n\nOBJACOORD\n2\n0 1.0\n1 1.0\n\n"
    "ACOORD\n4\n0 0 -3\n0 1 -1\n1 0 -1\n1 1 -3\n\nBCOORD\n2\n0 1\n1 1\n"
)
# minimize t + 2 x1 - 2 with [[t, 0.1], [0.1, t]] psd, x1 = 1 and t - 0.05 x1 >= 0: 0.1, which no double is.
MATRIX = (
    HEAD.format(sense="MIN", n=2)
    + "\nPSDCON\n1\n2\n\nCON\n2 2\nL= 1\nL+ 1\n\nOBJACOORD\n2\n0 1\n1 2\n\nOBJBCOORD\n-2\n\n"
    "ACOORD\n3\n0 1 1\n1 0 1\n1 1 -5e-2\n\nBCOORD\n1\n0 -1\n\n"
    "HCOORD\n2\n0 0 0 0 1\n0 0 1 1 1\n\nDCOORD\n1\n0 1 0 0.1\n"
)
# minimize t with t >= |(3, 4)| + offset 2.5: 7.5.
CONE = (
    HEAD.format(sense="MIN", n=1) + "\nCON\n3 1\nQ 3\n\nOBJACOORD\n1\n0 1\n\nOBJBCOORD\n2.5\n\n"
    "ACOORD\n1\n0 0 1\n\nBCOORD\n2\n1 3\n2 4\n"
)
# minimize t - x with t >= exp(x): 1 at x = 0, rows (t, 1, x).
EXPONENTIAL = (
    HEAD.format(sense="MIN", n=2) + "\nCON\n3 1\nEXP 3\n\nOBJACOORD\n2\n0 1\n1 -1\n\n"
    "ACOORD\n2\n0 0 1\n2 1 1\n\nBCOORD\n1\n1 1\n"
)


@pytest.mark.quick
def test_the_interval_holds_the_optimum_of_the_decimals(subtests: pytest.Subtests) -> None:
    for text, optimum in ((LINEAR, "1/2"), (MATRIX, "1/10"), (CONE, "15/2"), (EXPONENTIAL, "1")):
        with subtests.test(optimum):
            found = proved(text)
            lower, upper = Fraction(found["lower"]), Fraction(found["upper"])
            assert lower < Fraction(optimum) < upper
            assert upper - lower < Fraction(1, 10**11)


@pytest.mark.quick
def test_a_decimal_is_read_as_it_stands_there() -> None:
    """0.1 is in its ball, and the double nearest to it is not."""
    (matrix,) = [cone for cone in exact_problem(MATRIX).cones if cone.kind == "psd"]
    (tenth,) = matrix.b.values()
    with ctx.workprec(1000):  # fmpq becomes a ball, here a much smaller one
        assert tenth.contains(arb(fmpq(1, 10))) and not tenth.contains(arb(0.1))


def test_random_matrix_games(rng: np.random.Generator) -> None:
    """The value of a game is between those of any two strategies: here the best ones, by another solver."""
    from scipy.optimize import linprog

    a = rng.integers(1, 9, size=(4, 3))
    # minimize t with t >= each entry of A p, p >= 0, its sum 1.
    rows = [f"{i} {j} {-a[i, j]}" for i in range(4) for j in range(3)] + [f"{i} 3 1" for i in range(4)]
    rows += [f"{4 + j} {j} 1" for j in range(3)] + [f"7 {j} 1" for j in range(3)]
    text = HEAD.format(sense="MIN", n=4) + "\nCON\n8 2\nL+ 7\nL= 1\n\nOBJACOORD\n1\n3 1\n\n"
    text += f"ACOORD\n{len(rows)}\n" + "\n".join(rows) + "\n\nBCOORD\n1\n7 -1\n"
    found = proved(text)
    p = linprog(
        [0, 0, 0, 1], A_ub=np.hstack([a, -np.ones((4, 1))]), b_ub=np.zeros(4), A_eq=[[1, 1, 1, 0]], b_eq=[1]
    ).x[:3]
    assert float(found["lower"]) <= (a @ p).max() + 1e-9
    assert float(found["upper"]) >= (a @ p).max() - 1e-9


def test_without_an_interior_there_is_no_proof() -> None:
    no_interior = HEAD.format(sense="MIN", n=1) + "\nCON\n2 1\nL+ 2\n\nOBJACOORD\n1\n0 1\n\n"
    no_interior += "ACOORD\n2\n0 0 1\n1 0 -1\n\nBCOORD\n2\n0 -1\n1 1\n"  # x >= 1 and x <= 1
    with pytest.raises(ResultError, match=r"^no point in the interior of the cones was found$"):
        proved(no_interior)
    with pytest.raises(ResultError, match=r"^the start of the proof is not in the interior of the cones$"):
        enclosed(exact_problem(LINEAR), [1.0, 1.0])


@pytest.mark.quick
def test_what_is_not_in_a_cone_is_not_shown_to_be() -> None:
    """Balls that reach beyond a cone are not inside; nor are points of its boundary."""
    inside = {name: kind.inside for name, kind in suite.exact_cones.KINDS.items()}
    dual = {name: kind.inside_dual for name, kind in suite.exact_cones.KINDS.items()}
    wide = arb(1, 2)  # from -1 to 3
    assert inside["nonnegative"]([arb(1)], 1) and not inside["nonnegative"]([wide], 1)
    assert inside["second-order"]([arb(6), arb(3), arb(4)], 3)
    assert not inside["second-order"]([arb(5), arb(3), arb(4)], 3)
    assert not inside["second-order"]([arb(-6), arb(3), arb(4)], 3)
    assert inside["psd"]([arb(2), arb(9), arb(1), arb(1)], 2)  # the lower triangle alone
    assert not inside["psd"]([arb(1), arb(2), arb(2), arb(1)], 2)
    assert not inside["psd"]([arb(1), arb(0), wide, arb(1)], 2)
    assert inside["exponential"]([arb(3), arb(1), arb(1)], 3)
    assert not inside["exponential"]([arb(2), arb(1), arb(1)], 3)
    # Against (exp(x), 1, x) for all x, with c = -1, b = 0: a >= x exp(-x), so a >= 1 / e.
    assert dual["exponential"]([arb("0.37"), arb(0), arb(-1)], 3)
    assert not dual["exponential"]([arb("0.36"), arb(0), arb(-1)], 3)


def test_slopes_and_hessians_are_those_of_the_barrier(
    rng: np.random.Generator, subtests: pytest.Subtests
) -> None:
    """By differences; and the products of columns are those of the Hessian that ``bent`` applies."""
    for kind in suite.exact_cones.KINDS:
        with subtests.test(kind):
            compare_derivatives(kind, rng)


def compare_derivatives(kind: str, rng: np.random.Generator) -> None:
    row, size = suite.exact_cones.KINDS[kind], {"nonnegative": 1}.get(kind, 3)
    inner = np.array(row.middle(size))
    move = rng.normal(size=inner.size) * 0.1
    if kind == "psd":
        move = ((m := move.reshape(3, 3)) + m.T).ravel()
    v = [arb(float(x)) for x in inner + move]
    assert row.inside(v, size)
    step = rng.normal(size=inner.size)
    if kind == "psd":
        step = ((m := step.reshape(3, 3)) + m.T).ravel()
    ways = [[a + arb(float(b)) * h for a, b in zip(v, step, strict=True)] for h in (1e-4, -1e-4)]
    slopes = [row.slope(w, size) for w in ways]
    change = (row.value(ways[0], size) - row.value(ways[1], size)) / arb(2e-4)
    dot = sum((a * arb(float(b)) for a, b in zip(row.slope(v, size), step, strict=True)), arb(0))
    assert float(change) == pytest.approx(float(dot), rel=1e-5, abs=1e-6)
    bent = row.bent(row.bend(v, size), [arb(float(b)) for b in step])
    for a, b, c in zip(*slopes, bent, strict=True):
        assert float((a - b) / arb(2e-4)) == pytest.approx(float(c), rel=1e-4, abs=1e-4)
    places = [i * 3 + j for i in range(3) for j in range(i + 1)] if kind == "psd" else list(range(size))
    columns = [{places[0]: arb(2)}, {p: arb(float(rng.normal())) for p in places}, {places[-1]: arb(3)}]
    cone = suite.exact_problem.ExactCone(kind, size, dict(enumerate(columns)), {})
    pairs = row.pairs(row.bend(v, size), columns)
    for j, line in enumerate(pairs):
        image = cone.image([arb(int(i == j)) for i in range(3)])
        across = cone.across(row.bent(row.bend(v, size), image))
        assert [float(x) for x in line] == pytest.approx([float(across[k]) for k in range(j + 1)], rel=1e-9)


def test_what_a_file_may_not_have() -> None:
    with pytest.raises(ResultError, match=r"^the section POWCONES of a CBF file is not read here$"):
        exact_problem(LINEAR.replace("CON\n2 1", "POWCONES\n2 1"))
    with pytest.raises(ResultError, match=r"^the cone QR of a CBF file is not read here$"):
        exact_problem(CONE.replace("Q 3", "QR 3"))


def test_variables_in_cones_are_rows() -> None:
    # minimize -x0 with x0 <= 0 as a variable of the cone L-, and x1 in L=: 0.
    text = "VER\n3\n\nOBJSENSE\nMIN\n\nVAR\n2 2\nL- 1\nL= 1\n\nOBJACOORD\n1\n0 -1\n"
    found = proved(text)
    assert float(found["lower"]) <= 0.0 <= float(found["upper"]) < 1e-11


def test_decimals_are_rounded_outwards() -> None:
    with ctx.workprec(200):
        third, negative = arb(1) / 3, arb(-1234) / 3
    assert suite.proved_interval.decimal(third, up=False) == "0.3333333333333333"
    assert suite.proved_interval.decimal(third, up=True) == "0.3333333333333334"
    assert suite.proved_interval.decimal(negative, up=False) == "-411.33333333333334"
    assert suite.proved_interval.decimal(negative, up=True) == "-411.33333333333333"
    assert suite.proved_interval.decimal(arb(0), up=True) == "0.0000000000000000"
    for large, text in ((10**16, "10000000000000000"), (2 * 10**17, "200000000000000000")):
        for up in (False, True):
            found = suite.proved_interval.decimal(arb(large), up=up)
            assert float(found) == large and found.split(".")[0] == text


def test_equations_that_follow_from_others_are_no_bug() -> None:
    """minimize x with x >= 0, x = 1 and 2 x = 2."""
    text = (
        "VER\n3\n\nOBJSENSE\nMIN\n\nVAR\n1 1\nL+ 1\n\nCON\n2 1\nL= 2\n\nOBJACOORD\n1\n0 1\n\n"
        "ACOORD\n2\n0 0 1\n1 0 2\n\nBCOORD\n2\n0 -1\n1 -2\n"
    )
    with pytest.raises(ResultError, match="Newton's system is singular: some equations follow from others"):
        proved(text)
