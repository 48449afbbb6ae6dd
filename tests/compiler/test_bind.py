"""Givens become numbers: where they come from, and every way in which they do not fit.

Guards numerics/arrays.py.
"""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from named_workloads import random_workload

from mmopt import OptionError, Program, ProgramError, TooLargeError, Workload, WorkloadError
from mmopt.compiler import Instance, bind
from mmopt.compiler.bind import with_lets
from mmopt.language import program_names, to_source

TEXT = """\
program own
title "own"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
    Q: matrix[k, n]            "design queries"
    K: psd[k, k]               "how they lean"
    c: vector[k] > 0           "costs"
    b: vector[k] >= 0          "offsets"
    t: scalar                  "a number"
choose
    u: vector[k] >= 0
minimize
    c @ u + t * sum(b)
subject to
    one: (Q * Q).T @ u <= 1
strategy
    diag(sqrt(u)) @ Q norm 2
"""
GOOD = {"Q": np.eye(3)[:2], "K": np.eye(2), "c": np.ones(2), "b": np.zeros(2), "t": 2}
W = Workload.from_matrix(np.tri(3))


def given(**changes: object) -> Instance:
    return bind(Program.parse(TEXT), W, {**GOOD, **changes})


def test_what_the_caller_gives() -> None:
    instance = given()
    assert instance.sizes() == {"m": 3, "n": 3, "k": 2}
    assert instance.passed == {"Q", "K", "c", "b", "t"}
    assert instance.env["t"] == 2.0 and isinstance(instance.env["t"], float)
    assert instance.env["W"] == pytest.approx(np.tri(3))
    with pytest.raises(TypeError):
        instance.env["t"] = 3.0  # type: ignore[index]


def test_what_is_bound_is_a_copy() -> None:
    rows = np.eye(3)[:2].copy()
    instance = given(Q=rows)
    rows[0, 0] = 7.0
    assert instance.env["Q"][0, 0] == 1.0


def at(name: str, what: str) -> str:
    """The message on a given, with its line."""
    number, line = next((i, x) for i, x in enumerate(TEXT.split("\n"), 1) if x.startswith(f"    {name}: "))
    return f"<program>:{number}:5: {what}\n    {line}\n        ^"


NO_ARRAY = "is neither a number nor an array of numbers"
COMPLEX = "is complex, expected real numbers"
ZERO_PARTS = "is complex with an imaginary part of zeros, expected real numbers"
HINTS = {
    COMPLEX: "\n  pass Re = Q.real and Im = Q.imag, and write its real form [[Re, -Im], [Im, Re]]",
    ZERO_PARTS: "\n  pass Q.real",
}


@pytest.mark.quick
def test_givens_that_do_not_fit(subtests: pytest.Subtests) -> None:
    asymmetric = "is declared psd and is not symmetric: entry 0, 1 is 0.5 and entry 1, 0 is 0"
    for name, value, fault in (
        ("Q", np.ones(3), "has shape (3,), a matrix is declared"),
        ("Q", np.eye(4), "has shape (4, 4); n is 3 here, not 4"),
        ("c", np.ones(3), "has shape (3,); k is 2 here, not 3"),
        ("t", [1.0], "has shape (1,), a scalar is declared"),
        ("c", np.ones((2, 1)), "has shape (2, 1), a vector is declared; flatten it (c.ravel())"),
        ("c", np.ones((2, 2)), "has shape (2, 2), a vector is declared"),
        (
            "Q",
            [[1.0, np.nan, 0.0], [0.0, 1.0, 0.0]],
            "has entries that are NaN or infinite: entry 0, 1 is nan",
        ),
        ("t", np.inf, "has entries that are NaN or infinite: inf"),
        ("c", [1.0, 0.0], "is declared > 0, its smallest entry is 0"),
        ("b", [1.0, -0.5], "is declared >= 0, its smallest entry is -0.5"),
        ("K", [[1.0, 2.0], [2.0, 1.0]], "is declared psd and is not"),
        ("K", [[1.0, 0.5], [0.0, 1.0]], asymmetric),
        ("Q", "haar", NO_ARRAY),
        ("Q", [[1, 2, 3], [1, 2]], NO_ARRAY),
        ("Q", [["a", 1]], NO_ARRAY),
        ("Q", np.array([[1, None], [2, 3]]), f"{NO_ARRAY}: entry 0, 1 is of type NoneType"),
        ("c", [Fraction(1, 3), 10**400], "has a number beyond the largest double: entry 1"),
        ("c", [Decimal("NaN"), 1], "has entries that are NaN or infinite: entry 0 is nan"),
        ("Q", np.eye(3)[:2] * 1j, COMPLEX),
        ("Q", sp.csr_array(np.eye(3)[:2] * 1j), COMPLEX),
        ("Q", np.eye(3)[:2] * (1 + 0j), ZERO_PARTS),
    ):
        with subtests.test(fault):
            with pytest.raises(OptionError) as refused:
                given(**{name: value})
            whole = f"the given '{name}' {fault}"
            fits_no_line = fault in HINTS or fault.startswith((NO_ARRAY, "has a number beyond"))
            assert str(refused.value) == (whole + HINTS.get(fault, "") if fits_no_line else at(name, whole))
    for name, hint in (("R", "known: K, Q, W, b, c, t"), ("QQ", "did you mean 'Q'?")):
        with pytest.raises(OptionError) as refused:
            given(**{name: np.eye(2)})
        assert str(refused.value) == f"'own' has no given '{name}'\n  {hint}"


@pytest.mark.quick
def test_numbers_of_every_type_are_taken(subtests: pytest.Subtests) -> None:
    q = np.array([[1.0, 0.0, 3.0], [0.0, 2.0, 0.0]])
    whole, third = q.astype(int), [[0, Fraction(1, 3), 2**60 + 1], [Decimal("0.1"), True, np.int8(3)]]
    for kind, value, expected in (
        ("sparse array", sp.csr_array(q), q),
        ("sparse matrix", sp.coo_matrix(whole), q),
        ("lists", q.tolist(), q),
        ("truth values", q > 0, q > 0),
        ("small integers", whole.astype(np.uint8), q),
        ("Python's integers", whole.astype(object), q),
        ("exact numbers", third, [[0.0, 1 / 3, 2.0**60], [0.1, 1.0, 3.0]]),
        ("data frame", pd.DataFrame(whole), q),
    ):
        with subtests.test(kind):
            bound = given(Q=value).env["Q"]
            assert bound.dtype == np.float64
            assert np.array_equal(bound, expected)
    assert np.array_equal(given(c=pd.Series([1, 2], dtype="Int64")).env["c"], [1.0, 2.0])
    assert given(t=Fraction(1, 2)).env["t"] == 0.5
    with pytest.raises(TooLargeError, match="given 'Q' has 1,000,000 × 1,000,000 entries"):
        given(Q=sp.csr_array((10**6, 10**6)))


def test_a_given_that_is_missing() -> None:
    with pytest.raises(OptionError) as refused:
        bind(Program.parse(TEXT), W, {k: v for k, v in GOOD.items() if k != "Q"})
    missing = at("Q", "'own' needs the given 'Q' (design queries)")
    assert str(refused.value) == (
        f"{missing}\n  pass it: givens={{'Q': …}} or --given Q=FILE; "
        "numbers can also stand in the text, under let: A = [[1, 2], [3, 4]]"
    )


def test_a_psd_given_may_be_singular() -> None:
    for singular in (np.zeros((2, 2)), np.ones((2, 2))):
        bound = given(K=singular)
        assert np.array_equal(bound.env["K"], singular)


@pytest.mark.quick
def test_a_symmetric_given_is_symmetric() -> None:
    program = Program.parse(TEXT.replace("psd", "symmetric"))
    wide = np.array([[1.0, 3.0], [3.0, 1.0]])
    turned = wide + np.array([[0.0, 1e-12], [0.0, 0.0]])  # what rounding may leave: 3.3e-13 of the largest
    kept = bind(program, W, {**GOOD, "K": turned}).env["K"]
    assert np.array_equal(kept, kept.T) and kept == pytest.approx(wide, rel=1e-12)
    assert bind(program, W, {**GOOD, "K": wide}).env["K"] is not kept
    with pytest.raises(OptionError) as refused:
        bind(program, W, {**GOOD, "K": wide + np.array([[0.0, 0.0], [1e-8, 0.0]])})
    assert str(refused.value).splitlines()[0] == (
        "<program>:8:5: the given 'K' is declared symmetric and is not symmetric: entry 0, 1 is 3 and "
        "entry 1, 0 is 3.00000001"
    )


def test_targets_are_needed() -> None:
    with pytest.raises(WorkloadError) as refused:
        bind(Program.load("fitness_for_use"), W)
    assert str(refused.value) == (
        "the program needs accuracy targets, and no query of the workload has one\n"
        "  add within or max_variance to the queries, or pass targets= to Workload.from_matrix"
    )


def test_a_query_without_a_target_that_nothing_limits() -> None:
    w = Workload.from_matrix(np.eye(3), targets=[1.0, 1.0, np.inf])
    with pytest.raises(WorkloadError) as refused:
        bind(Program.load("fitness_for_use"), w)
    assert str(refused.value) == (
        "some queries have no target and cannot be derived from those that have one, so their variance "
        "would have no limit (1 of 3 queries have none)\n"
        "  give them a target (max_variance), or leave them out"
    )


def test_only_queries_with_a_target_are_constrained() -> None:
    w = Workload.from_matrix(np.vstack([np.eye(2), [[1, 1]]]), targets=[1.0, 4.0, np.inf])
    instance = bind(Program.load("fitness_for_use"), w)
    assert instance.env["L"].shape == (2, 2)
    assert instance.env["c"] == pytest.approx([1.0, 4.0])


def test_a_requirement_that_is_broken_is_shown() -> None:
    with pytest.raises(OptionError) as refused:
        bind(Program.load("query_weighting"), W, {"Q": np.eye(3)[:2]})
    first, line, caret, hint = str(refused.value).splitlines()
    assert ": 'query_weighting' requires 'supports' of its data, and it is off by 1.0e+00" in first
    assert line.strip() == "supports:    W @ pinv(D) @ D == W"
    assert caret.strip() == "^" * len(caret.strip())
    assert hint == "  give other design queries: independent rows from which every query can be derived"


def test_shipped_programs_bind_on_any_workload(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in program_names():
        with subtests.test(program):
            w = random_workload(rng)
            instance = bind(Program.load(program), w)
            assert instance.passed == frozenset()
            for d in instance.program.givens:
                declared = tuple(dim.value(instance.sizes()) for dim in d.dims)
                assert instance.env[d.name].shape == declared


def test_unused_design_queries_are_dropped() -> None:
    """Cells 3 and 4 are not asked, so their rows of the identity get no weight."""
    w = Workload.from_matrix(np.hstack([np.tri(2), np.zeros((2, 2))]))
    instance = bind(Program.load("query_weighting"), w, {"Q": np.eye(4)})
    assert instance.env["D"] == pytest.approx(np.eye(4)[:2])
    assert instance.env["c"] == pytest.approx([2.0, 1.0])
    assert instance.sizes()["k"] == 2 and instance.sizes()["h"] == 4


def test_lets_are_computed_from_the_numbers_at_hand() -> None:
    instance = bind(Program.load("query_weighting"), W)
    kept = {n: v for n, v in instance.env.items() if n not in ("a", "D", "c")}
    again = with_lets(instance.checked, {**kept, "W": 2 * instance.env["W"]})
    assert again["c"] == pytest.approx(4 * instance.env["c"])


PARAMETER = TEXT.replace("choose\n", "parameter\n    p: dim = n + 1\n    s = 2 * n\nchoose\n")


def test_parameters_have_defaults_and_may_be_given() -> None:
    program = Program.parse(PARAMETER)
    assert bind(program, W, GOOD).env["p"] == 4
    assert bind(program, W, GOOD).env["s"] == 6.0
    assert bind(program, W, {**GOOD, "p": 2, "s": 0.5}).env["p"] == 2


def test_a_parameter_that_is_no_number(subtests: pytest.Subtests) -> None:
    program = Program.parse(PARAMETER)
    finite = "is one finite number, not"
    for value, fault in (
        (np.nan, f"{finite} nan"),
        (np.inf, f"{finite} inf"),
        ("many", NO_ARRAY),
        ([1, 2], f"{finite} [1, 2]"),
        ([[1], [1, 2]], NO_ARRAY),
        *((number, f"is a dimension, not {number}") for number in (2.5, 0, -1)),
    ):
        for name in ("p", "s") if "dimension" not in fault else ("p",):
            with subtests.test(fault, name=name):
                with pytest.raises(OptionError) as refused:
                    bind(program, W, {**GOOD, name: value})
                assert str(refused.value) == f"the parameter '{name}' {fault}"


def test_a_parameter_of_another_sign_is_refused() -> None:
    """Their certificates are proved for positive numbers only."""
    w = Workload.from_matrix(np.tri(3), targets=1.0)
    for program, name, givens in (
        ("softmax_step", "t1", {}),
        ("softmax_step", "t2", {}),
        ("low_rank_strategy", "beta", {"S": np.eye(3)}),
    ):
        with pytest.raises(OptionError, match=f"'{name}' is declared > 0, its smallest entry is -1"):
            bind(Program.load(program), w, {**givens, name: -1.0})


@pytest.mark.quick
def test_a_number_without_a_kind_keeps_the_sign_of_its_default(subtests: pytest.Subtests) -> None:
    """Lines were checked with that sign: t * x**2 is convex for no other."""
    for default, value, other in (("0.5", -1.0, 1.0), ("0", -1e-9, 1.0), ("-2", 1.0, -1.0)):
        with subtests.test(default):
            text = TEXT.replace("choose\n", f"parameter\n    s = {default}\nchoose\n")
            with pytest.raises(OptionError) as refused:
                bind(Program.parse(text), W, {**GOOD, "s": value})
            number = f"{float(default):g}"
            assert str(refused.value) == (
                f"<program>:13:5: the parameter 's' is {value:g}, of another sign than its default {number}\n"
                f"        s = {default}\n        ^\n"
                f"  write its kind, and any sign may be passed: s: scalar = {number}"
            )
            declared = Program.parse(text.replace(" s =", " s: scalar ="))
            assert bind(declared, W, {**GOOD, "s": value}).env["s"] == value
            assert bind(Program.parse(text), W, {**GOOD, "s": other}).env["s"] == other


REQUIRED = """program required
given
    u: vector[n]
    v: vector[n]
parameter
    beta = 1/3
    p = 3
let
    {2}
require
    {0}
choose
    x: vector[n]
minimize
    {1}
subject to
    one: sum(x) >= 1
"""


def required(lines: str, objective: str, lets: str = "q = p / 2 + 1", **given: object) -> Instance:
    text = REQUIRED.format(lines.replace("; ", "\n    "), objective, lets)
    vectors = {"u": [1.0, 2.0], "v": [1.0, 1.0]}
    return bind(Program.parse(text), W, {**vectors, **given})


BELOW = 1.0 - 2.0**-53  # the float before 1
FAULTS: list[tuple[str, str, dict[str, object], str]] = [
    # lines, objective, given, the sides where they do not hold ("": they do)
    ("beta < 1", "sum(x**2)", {"beta": BELOW}, ""),
    ("beta < 1", "sum(x**2)", {"beta": 1.0}, "1.0 and 1.0"),
    ("beta <= 1", "(1 - beta) * norm(x)", {"beta": 1.0}, ""),
    ("beta <= 1", "(1 - beta) * norm(x)", {"beta": np.nextafter(1.0, 2.0)}, "1.0000000000000002 and 1.0"),
    ("beta <= 1", "(1 - beta) * sum(x)", {"beta": np.nextafter(1.0, 2.0)}, ""),  # no sign is needed
    ("3 * beta <= 1", "(1 - 3 * beta) * norm(x)", {}, "1.0 and 1.0"),  # equal, but 3 * (1/3) is rounded
    ("beta + 0.1 <= 1", "(0.9 - beta) * norm(x)", {}, ""),
    ("u >= v", "sum((u - v) * abs(x))", {}, ""),
    ("u >= v", "sum((u - v) * abs(x))", {"u": [1.0, BELOW]}, "0.9999999999999999 and 1.0"),
    ("u > v", "sum(x**2)", {}, "1.0 and 1.0"),
    ("v > 0.5", "sum(x**2)", {"v": [0.75, 0.5]}, "0.5 and 0.5"),
    ("sum(v) > 0; sum(u) < 1", "sum(x**2)", {}, "3.0 and 1.0"),
    ("p >= 1", "sum(abs(x)**p)", {"p": BELOW}, "0.9999999999999999 and 1.0"),
]


def test_lines_on_which_signs_rest_hold_for_the_numbers_themselves(subtests: pytest.Subtests) -> None:
    for lines, objective, numbers, sides in FAULTS:
        with subtests.test(lines, **numbers):
            if not sides:
                assert required(lines, objective, **numbers).checked.program.choose
                continue
            with pytest.raises(OptionError) as refused:
                required(lines, objective, **numbers)
            message, line, *_ = str(refused.value).splitlines()
            assert message.endswith(f" is required of the data, but the sides are {sides}")
            assert line.strip() in lines.split("; ")


EXPONENTS: list[tuple[str, str, dict[str, object], str]] = [
    # a line, the exponent, given, the objective with numbers
    ("p >= 1", "p", {}, "sum(abs(x)**3)"),
    ("p >= 1", "p", {"p": 2.5}, "sum(abs(x)**2.5)"),
    ("p >= 1", "p", {"p": 1}, "sum(abs(x))"),
    ("p >= 1", "p + 1", {}, "sum(abs(x)**(3 + 1))"),
    ("q >= 1", "q", {}, "sum(abs(x)**(3 / 2 + 1))"),
    ("p >= 1", "n", {}, "sum(abs(x)**2)"),
    ("p >= 1", "1 + beta", {}, "sum(abs(x)**(1 + 1 / 3))"),  # exactly a third, for bounds
]


def test_exponents_that_are_given_become_numbers(subtests: pytest.Subtests) -> None:
    for line, exponent, numbers, written in EXPONENTS:
        with subtests.test(exponent, **numbers):
            instance = required(line, f"sum(abs(x)**({exponent}))", **numbers)
            assert instance.program.objective is not None
            assert to_source(instance.program.objective) == written
            assert instance.checked.written.objective != instance.program.objective
    kept = required("p >= 1", "sum(abs(u)**p) * norm(x)").program  # of what is given it stays
    assert kept.objective is not None and to_source(kept.objective) == "sum(abs(u)**p) * norm(x)"
    with pytest.raises(ProgramError, match="this exponent is not made of numbers") as refused:
        required("r >= 1", "sum(abs(x)**r)", lets="r = sqrt(p)")
    assert refused.value.where is not None


@pytest.mark.parametrize(
    ("objective", "line", "words"),
    [
        ("sum(x)", "sum(x) / 0", "'0' is 0, and something is divided by it"),
        ("sum(x)", "sum(x) - eps / eps", "'eps' is 0"),
        ("sum(x) + log(eps)", "sum(x)", r"'log\(eps\)' has no finite value"),
        ("sum(x)", "sum(x[i] / (ones(2) - cumsum(ones(2)))[i] for i in 2)", r"\[i\]' is 0"),
        ("sum(x)", "x[0] * exp(1000)", r"'exp\(1000\)' has no finite value"),
    ],
)
def test_what_is_given_is_finite_in_lines(objective: str, line: str, words: str) -> None:
    text = "program p\nparameter eps = 0\nchoose x: vector[2] >= 0\n"
    text += f"minimize {objective}\nsubject to a: {line} >= 1\n"
    with pytest.raises(OptionError, match=words) as refused:
        bind(Program.parse(text), Workload.from_matrix(np.eye(2)))
    assert refused.value.where is not None
