"""Givens become numbers: where they come from, and every way in which they do not fit."""

import numpy as np
import pytest
from cases import random_workload

from mmopt import OptionError, Program, Workload, WorkloadError
from mmopt.compiler import Instance, bind
from mmopt.compiler.bind import with_lets
from mmopt.language import program_names

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
    assert instance.own == {"Q", "K", "c", "b", "t"}
    assert instance.env["t"] == 2.0 and isinstance(instance.env["t"], float)
    assert instance.env["W"] == pytest.approx(np.tri(3))
    with pytest.raises(TypeError):
        instance.env["t"] = 3.0  # type: ignore[index]


def test_what_is_bound_is_a_copy() -> None:
    rows = np.eye(3)[:2].copy()
    instance = given(Q=rows)
    rows[0, 0] = 7.0
    assert instance.env["Q"][0, 0] == 1.0


def test_givens_that_do_not_fit(subtests: pytest.Subtests) -> None:
    for case, (changes, message) in {
        "unknown": ({"R": np.eye(2)}, "'own' has no given 'R'\n  known: K, Q, W, b, c, t"),
        "misspelt": ({"QQ": np.eye(2)}, "'own' has no given 'QQ'\n  did you mean 'Q'?"),
        "wrong rank": (
            {"Q": np.ones(3)},
            "<program>:7:5: the given 'Q' has shape (3,), a matrix is declared\n"
            '        Q: matrix[k, n]            "design queries"\n'
            "        ^",
        ),
        "wrong columns": (
            {"Q": np.eye(4)},
            "<program>:7:5: the given 'Q' has shape (4, 4); n is 3 here, not 4\n"
            '        Q: matrix[k, n]            "design queries"\n'
            "        ^",
        ),
        "wrong length": (
            {"c": np.ones(3)},
            "<program>:9:5: the given 'c' has shape (3,); k is 2 here, not 3\n"
            '        c: vector[k] > 0           "costs"\n'
            "        ^",
        ),
        "no number": (
            {"t": [1.0]},
            "<program>:11:5: the given 't' has shape (1,), a scalar is declared\n"
            '        t: scalar                  "a number"\n'
            "        ^",
        ),
        "NaN": (
            {"Q": [[1.0, np.nan, 0.0], [0.0, 1.0, 0.0]]},
            "<program>:7:5: the given 'Q' has entries that are NaN or infinite\n"
            '        Q: matrix[k, n]            "design queries"\n'
            "        ^",
        ),
        "infinite": (
            {"t": np.inf},
            "<program>:11:5: the given 't' has entries that are NaN or infinite\n"
            '        t: scalar                  "a number"\n'
            "        ^",
        ),
        "zero where > 0": (
            {"c": [1.0, 0.0]},
            "<program>:9:5: the given 'c' is declared > 0, its smallest entry is 0\n"
            '        c: vector[k] > 0           "costs"\n'
            "        ^",
        ),
        "negative": (
            {"b": [1.0, -0.5]},
            "<program>:10:5: the given 'b' is declared >= 0, its smallest entry is -0.5\n"
            '        b: vector[k] >= 0          "offsets"\n'
            "        ^",
        ),
        "indefinite": (
            {"K": [[1.0, 2.0], [2.0, 1.0]]},
            "<program>:8:5: the given 'K' is declared psd and is not\n"
            '        K: psd[k, k]               "how they lean"\n'
            "        ^",
        ),
        "not symmetric": (
            {"K": [[1.0, 0.5], [0.0, 1.0]]},
            "<program>:8:5: the given 'K' is declared psd and is not symmetric: entry 0, 1 is 0.5 and "
            "entry 1, 0 is 0\n"
            '        K: psd[k, k]               "how they lean"\n'
            "        ^",
        ),
        "text": ({"Q": "haar"}, "the given 'Q' is neither a number nor an array of numbers"),
        "ragged": ({"Q": [[1, 2, 3], [1, 2]]}, "the given 'Q' is neither a number nor an array of numbers"),
        "complex": ({"Q": np.eye(3)[:2] * 1j}, "the given 'Q' is neither a number nor an array of numbers"),
    }.items():
        with subtests.test(case):
            with pytest.raises(OptionError) as refused:
                given(**changes)
            assert str(refused.value) == message


def test_a_given_that_is_missing() -> None:
    with pytest.raises(OptionError) as refused:
        bind(Program.parse(TEXT), W, {k: v for k, v in GOOD.items() if k != "Q"})
    assert str(refused.value) == (
        "<program>:7:5: 'own' needs the given 'Q' (design queries)\n"
        '        Q: matrix[k, n]            "design queries"\n'
        "        ^\n"
        "  pass it: givens={'Q': …} or --given Q=FILE"
    )


def test_a_psd_given_may_be_singular() -> None:
    for singular in (np.zeros((2, 2)), np.ones((2, 2))):
        bound = given(K=singular)
        assert np.array_equal(bound.env["K"], singular)


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
        "the program asks for accuracy targets and no query of the workload has one\n"
        "  write max_variance beside the queries, or pass targets= to Workload.from_matrix"
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
    assert ": 'query_weighting' requires 'supports' of what is given, and it is off by 1.0e+00" in first
    assert line.strip() == "supports:    W @ pinv(D) @ D == W"
    assert caret.strip() == "^" * len(caret.strip())
    assert hint == "  give other design queries: independent rows from which every query can be derived"


def test_shipped_programs_bind_on_any_workload(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for program in program_names():
        with subtests.test(program=program):
            w = random_workload(rng)
            instance = bind(Program.load(program), w)
            assert instance.own == frozenset()
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


def test_a_dimension_is_a_whole_number(subtests: pytest.Subtests) -> None:
    for value, shown in [(2.5, "2.5"), (0, "0"), (-1, "-1")]:
        with subtests.test(value=value, shown=shown):
            with pytest.raises(OptionError) as refused:
                bind(Program.parse(PARAMETER), W, {**GOOD, "p": value})
            assert str(refused.value) == f"the parameter 'p' is a dimension, not {shown}"


def test_a_parameter_that_is_no_number(subtests: pytest.Subtests) -> None:
    for case, (value, message) in {
        "NaN": (np.nan, "the parameter '{name}' is one finite number, not nan"),
        "infinite": (np.inf, "the parameter '{name}' is one finite number, not inf"),
        "text": ("many", "the parameter '{name}' is neither a number nor an array of numbers"),
        "two": ([1, 2], "the parameter '{name}' is one finite number, not [1, 2]"),
        "ragged": ([[1], [1, 2]], "the parameter '{name}' is neither a number nor an array of numbers"),
    }.items():
        with subtests.test(case):
            for name in ("p", "s"):
                with pytest.raises(OptionError) as refused:
                    bind(Program.parse(PARAMETER), W, {**GOOD, name: value})
                assert str(refused.value) == message.format(name=name)


def test_a_parameter_of_another_sign_is_refused(subtests: pytest.Subtests) -> None:
    """Their certificates are proved for positive numbers only."""
    for program, parameter in [("softmax_step", "t1"), ("softmax_step", "t2"), ("low_rank_strategy", "beta")]:
        with subtests.test(program=program, parameter=parameter):
            w, givens = (
                Workload.from_matrix(np.tri(3), targets=1.0),
                {"S": np.eye(3)} if parameter == "beta" else {},
            )
            with pytest.raises(OptionError, match=f"'{parameter}' is declared > 0, its smallest entry is -1"):
                bind(Program.load(program), w, {**givens, parameter: -1.0})


def test_a_number_without_a_kind_keeps_the_sign_of_its_default(subtests: pytest.Subtests) -> None:
    """Lines were checked with that sign: t * x**2 is convex for no other."""
    for default, value in [("0.5", -1.0), ("0", -1e-9), ("-2", 1.0)]:
        with subtests.test(default=default, value=value):
            text = TEXT.replace("choose\n", f"parameter\n    s = {default}\nchoose\n")
            with pytest.raises(OptionError) as refused:
                bind(Program.parse(text), W, {**GOOD, "s": value})
            assert str(refused.value) == (
                f"<program>:13:5: the parameter 's' is {value:g}, of another sign than its default "
                f"{float(default):g}\n"
                f"        s = {default}\n"
                "        ^\n"
                f"  write its kind, and any sign may be passed: s: scalar = {float(default):g}"
            )
            declared = Program.parse(text.replace(" s =", " s: scalar ="))
            assert bind(declared, W, {**GOOD, "s": value}).env["s"] == value
            assert bind(Program.parse(text), W, {**GOOD, "s": -value if default != "0" else 1.0}).env[
                "s"
            ] == (-value if default != "0" else 1.0)
