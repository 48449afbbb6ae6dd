"""Scaling is exact: the scaled problem's solution, scaled back, is the original's.

Exponentials and logarithms are taken of plain numbers: only then does a program have a scale.
"""

import numpy as np
import pytest
from named_workloads import random_workload
from tolerances import ROUNDING

from mmopt import Program, Workload
from mmopt.compiler import bind, lower, scale
from mmopt.compiler.scale_numbers import SOURCE_UNITS, Units, infer_units
from mmopt.language import SOURCES, evaluate, program_names, violation

# The logarithm of a determinant has no unit: what stands in it is left as it is.
UNSCALED = ("d_optimal_design",)
# The logarithms of barrier_step have no unit either, nor a value at any point: nothing in it is scaled.
CONVEX = [
    name
    for name in program_names()
    if Program.load(name).problem_class == "convex" and name != "barrier_step"
]
# Lines whose multipliers are compared, and the programs that have one.
PRICES = ("sensitivity", "privacy")
PRICED = [name for name in CONVEX if any(c.name in PRICES for c in Program.load(name).constraints)]
SCALED = [name for name in CONVEX if name not in UNSCALED]


@pytest.mark.quick
def test_there_and_back(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """At any point, objective and violations of the scaled program times the factors are the original's."""
    for name in CONVEX:
        with subtests.test(name):
            w = random_workload(rng)
            instance = bind(Program.load(name), w)
            scaled, scaling = scale(instance)
            values = {}
            for d in instance.program.choose:
                shape = tuple(dim.value(instance.sizes()) for dim in d.dims)
                if d.kind == "psd":
                    rows = rng.normal(size=shape)
                    values[d.name] = rows.T @ rows + np.eye(len(rows))
                else:
                    values[d.name] = rng.uniform(0.5, 1.5, size=shape) if shape else 1.3
            original = {n: v * scaling.variables[n] for n, v in values.items()}
            objective = instance.program.objective
            assert objective is not None
            small, large = (
                evaluate(objective, {**scaled.env, **values}),
                evaluate(objective, {**instance.env, **original}),
            )
            # The root of a singular matrix has the square root of the rounding.
            assert large == pytest.approx(scaling.objective * small, rel=1e-7)
            for c in instance.program.constraints:
                if c.relation.op in ("<=", ">="):
                    before = violation(c, {**instance.env, **original})
                    assert before == pytest.approx(
                        violation(c, {**scaled.env, **values}), rel=1e-9, abs=1e-12
                    )


@pytest.mark.quick
@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.some(3)
@pytest.mark.parametrize("name", PRICED)
def test_multipliers_come_back(name: str, rng: np.random.Generator) -> None:
    """Multipliers times constraint is objective: those of the unscaled problem, solved as it is."""
    w = Workload.from_matrix(rng.normal(size=(8, 6)), targets=rng.uniform(0.5, 2.0, size=8))
    instance = bind(Program.load(name), w)
    scaled, scaling = scale(instance)
    found = []
    for one in (instance, scaled):
        lowered = lower(one)
        lowered.problem.solve(solver="CLARABEL", tol_gap_rel=1e-9, tol_gap_abs=1e-9, tol_feas=1e-9)
        found.append(
            {
                n: g[0].dual_value
                for n, g in lowered.constraints.items()
                if n in PRICES and n in scaling.multipliers
            }
        )
    for constraint, plain in found[0].items():
        back = found[1][constraint] * scaling.multipliers[constraint]
        assert back == pytest.approx(plain, rel=1e-3, abs=1e-4 * np.abs(plain).max())


def test_the_scaled_program_does_not_see_the_scale(rng: np.random.Generator) -> None:
    for factor in [1e-6, 1e6]:
        # Simple spectra: eigenvectors of a repeated eigenvalue are whatever rounding makes of them.
        w = Workload.from_matrix(rng.normal(size=(9, 6)), targets=rng.uniform(0.5, 5.0, size=9))
        for name in SCALED:
            one, _ = scale(bind(Program.load(name), w))
            other, _ = scale(
                bind(
                    Program.load(name),
                    Workload.from_matrix(factor * w.queries, targets=w.targets * factor),
                )
            )
            for d in one.program.givens:
                assert np.abs(other.env[d.name]) == pytest.approx(np.abs(one.env[d.name]), rel=1e-6, abs=1e-9)


def test_givens_are_not_scaled_where_they_are_near_one_or_the_workload_is_read() -> None:
    w = Workload.from_matrix(100.0 * np.tri(4))
    for size in (7.0, 7e5):
        instance = bind(Program.load("query_weighting"), w, {"Q": size * np.eye(4)})
        scaled, _ = scale(instance)
        assert np.array_equal(scaled.env["Q"], instance.env["Q"])
    for text, (givens, *_) in FAR.items():
        near = {name: np.clip(7.0 * np.array(value), -700.0, 700.0) for name, value in givens.items()}
        scaled, scaling = scale(bind(Program.parse(f"program near\n{text}"), w, near))
        assert all(np.array_equal(scaled.env[name], value) for name, value in near.items())
        assert set(scaling.variables.values()) == {scaling.objective} == {1.0}


FAR = {  # what is passed, and the factors of what is chosen and of the objective, if the lines allow them
    "given\n    z: vector[n]\nchoose\n    q: scalar\nminimize\n    q\n"
    "subject to\n    inside: [[1, z.T], [z, q * eye(n)]] >> 0\n": ({"z": [1.0, 1.0]}, {"z": 1}, {"q": 2}, 2),
    "given\n    A: matrix[m, n]\n    b: vector[m]\n    c: vector[n]\nchoose\n    x: vector[n] >= 0\n"
    "minimize\n    c @ x + norm(A @ x - b)\nsubject to\n    most: A @ x <= b\n": (
        {"A": [[1.0, 0.5], [0.2, 1.0]], "b": [1.0, 1.0], "c": [1.0, 0.5]},
        {"A": -1, "b": 2, "c": -1},
        {"x": 3},
        2,
    ),
    "given\n    M: matrix[n, n]\n    known: matrix[n, n]\nchoose\n    X: matrix[n, n]\n"
    "minimize\n    nuclear(X)\nsubject to\n    data: X[i, j] == M[i, j] for i, j in n if known[i, j] > 9\n": (
        {"M": np.tri(3), "known": 1e6 * np.tri(3)},
        {"M": 1},
        {"X": 1},
        1,
    ),
}


@pytest.mark.parametrize("factor", [1e-6, 1e5])
def test_what_the_caller_passes_is_scaled_where_it_is_far_from_one(
    factor: float, subtests: pytest.Subtests
) -> None:
    """Numbers near one are found again behind any units that the lines allow; conditions are left alone."""
    for text, (givens, powers, chosen, objective) in FAR.items():
        with subtests.test(text):
            far = {name: np.multiply(value, factor ** powers.get(name, 0)) for name, value in givens.items()}
            scaled, scaling = scale(
                bind(Program.parse(f"program far\n{text}"), Workload.from_matrix([[1.0]]), far)
            )
            for name, value in givens.items():
                assert scaled.env[name] == pytest.approx(np.asarray(value), rel=1e-9), name
            assert scaling.variables == pytest.approx(
                {k: factor**power for k, power in chosen.items()}, rel=1e-9
            )
            assert scaling.objective == pytest.approx(factor**objective, rel=1e-9)


def test_a_count_and_an_exponent_keep_their_size() -> None:
    text = (
        "program far\ngiven\n    a: vector[n]\n    k: scalar >= 0\nchoose\n    x: vector[n] >= 0\nminimize\n"
    )
    text += "    sum(x)\nsubject to\n    some: sum_largest(a * x, k) <= 3\n    all: a @ x >= 1\n"
    givens = {"a": np.full(3, 1e6), "k": 2.0}
    scaled, scaling = scale(bind(Program.parse(text), Workload.from_matrix([[1.0]]), givens))
    assert scaled.env["k"] == 2.0 and scaling.variables["x"] == pytest.approx(1e-6)


def test_what_is_passed_is_brought_nearest_to_one_where_the_lines_do_not_allow_one() -> None:
    """A @ x <= b and x <= 1: A and b have one unit, and a factor of 1e8 between them is split evenly."""
    text = "program far\ngiven\n    A: matrix[m, n]\n    b: vector[m]\nchoose\n    x: vector[n]\nmaximize\n"
    text += "    sum(x)\nsubject to\n    most: A @ x <= b\n    up: x <= 1\n"
    givens = {"A": np.full((2, 2), 1e10), "b": np.full(2, 1e2)}
    scaled, scaling = scale(bind(Program.parse(text), Workload.from_matrix([[1.0]]), givens))
    assert scaled.env["A"].max() == pytest.approx(1e4) and scaled.env["b"].max() == pytest.approx(1e-4)
    assert scaling.variables == pytest.approx({"x": 1.0}) and scaling.objective == pytest.approx(1.0)


def test_a_program_whose_units_disagree_is_left_alone() -> None:
    text = Program.load("l2_strategy").text.replace("diag(X) <= 1", "X + W.T @ W << eye(n)")
    instance = bind(Program.parse(text[: text.index("certificate")]), Workload.from_matrix(np.tri(3)))
    scaled, scaling = scale(instance)
    assert isinstance(infer_units(instance.program), str)
    assert scaled is instance
    assert scaling.scales == {} and scaling.objective == 1.0
    assert set(scaling.variables.values()) == set(scaling.multipliers.values()) == {1.0}


def test_the_line_that_disagrees_is_named(subtests: pytest.Subtests) -> None:
    for case, (change, line) in {
        "a constraint": (("diag(X) <= 1", "diag(X) <= 1\n    off: X + W.T @ W << eye(n)"), "off"),
        "the objective": (("trace(W @ inv(X) @ W.T)", "trace((W + 1) @ inv(X) @ W.T)"), "objective"),
        "none": (("diag(X) <= 1", "diag(X) <= 1"), ""),
    }.items():
        with subtests.test(case):
            text = Program.load("l2_strategy").text
            program = Program.parse(text[: text.index("certificate")].replace(*change))
            units = infer_units(program)
            assert units == line if line else isinstance(units, Units)


# The objective's powers of the queries' and of the targets' scale, where they are not those of total error.
POWERS = {
    "a_optimal_design": (-2.0, 0.0),
    # Its S1 and S2 have units of their own.
    "common_mechanism": (0.0, 0.0),
    "fitness_budget": (2.0, -1.0),
    "fitness_dual": (1.0, -0.5),
    "fitness_for_use": (2.0, -1.0),
    "fitness_hybrid": (1.0, -0.5),
    "fitness_level": (2.0, -1.0),
    "fitness_lmi": (2.0, -1.0),
    "fitness_penalty": (1.0, -0.5),
    "gamma_2": (1.0, 0.0),
    "gamma_f": (1.0, 0.0),
    # Their V and S have units of their own.
    "low_rank_gaussian_strategy": (0.0, 0.0),
    "low_rank_reconstruction": (0.0, 0.0),
    "low_rank_strategy": (0.0, 0.0),
    "lp_strategy": (4.0, 0.0),
    "weighted_l2": (2.0, -2.0),
}


def test_units_predict_the_objective(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """The factor of the objective when queries and targets are scaled, against two scaled instances."""
    for name in SCALED:
        with subtests.test(name):
            program = Program.load(name)
            w = random_workload(rng)
            instance = bind(program, w)
            numbers = [p.name for p in program.parameters if p.declared is None or not p.declared.dims]
            parameters = {name: float(instance.env[name]) for name in numbers}
            own = {p.name: {f"@{p.name}": 1.0} for p in program.parameters if p.name not in numbers}
            units = infer_units(instance.program, own, parameters)
            assert isinstance(units, Units)
            queries, targets = POWERS.get(name, (2.0, 0.0))
            for s, t in ((3.0, 1.0), (1.0, 0.2), (0.01, 40.0)):
                expected = units.factor(units.objective, {"queries": s, "targets": t})
                assert expected == pytest.approx(s**queries * t**targets, rel=ROUNDING)
                other = Workload.from_matrix(s * w.queries, targets=t * w.targets)
                one, two = scale(bind(program, w))[1], scale(bind(program, other))[1]
                assert two.objective / one.objective == pytest.approx(expected, rel=1e-9)


def test_every_source_has_units() -> None:
    assert set(SOURCE_UNITS) == set(SOURCES)


TRIAL = """program trial
class smooth
given
    W: matrix[r, n] = workload.root
    G: psd[n, n] = workload.gram
choose
    X: psd[n, n]
minimize
    {objective}
strategy
    factor(X) norm 2
"""


def test_arguments_have_no_unit(subtests: pytest.Subtests) -> None:
    """``power`` of the queries' scale by which the objective grows; None where the lines agree on none."""
    for objective, power in [
        ("trace(X) + exp(trace(W @ inv(X) @ W.T) / trace(G)) * trace(X)", 0.0),
        ("trace(W @ inv(X) @ W.T) * log(trace(X))", 2.0),
        ("trace(G) * logsumexp(diag(W @ inv(X) @ W.T) / trace(G))", 2.0),
        ("exp(trace(W @ inv(X) @ W.T)) + trace(X) / trace(G)", 0.0),
        ("exp(trace(W @ inv(X) @ W.T)) + trace(X)", None),
        ("log(trace(G)) * trace(X)", None),
        ("log(trace(W @ X @ W.T) / trace(G)) * trace(polar(G) @ X)", 0.0),
    ]:
        with subtests.test(objective, power=power):
            instance = bind(
                Program.parse(TRIAL.format(objective=objective)), Workload.from_matrix(3.0 * np.tri(4))
            )
            _, scaling = scale(instance)
            assert (scaling.scales == {}) == (power is None)
            if power is not None:
                assert scaling.objective == pytest.approx(scaling.scales["queries"] ** power)
