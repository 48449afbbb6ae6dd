"""The cones that are counted before anything is built are the cones that are handed over."""

from collections import Counter

import numpy as np
import pytest
from cases import random_workload

from mmopt import Program, Workload
from mmopt.compiler import Cone, bind, cones, lower, variables
from mmopt.language import program_names

CONVEX = [name for name in program_names() if Program.load(name).klass == "convex"]

MORE = """\
program more
title "every kind of line"
source "none"
class convex
given
    W: matrix[m, n] = workload.matrix
choose
    X: psd[n, n]
    Z: psd[n, n]
    u: vector[m] >= 0
    v: vector[m]
    t: scalar
minimize
    t + sum(u) + trace(inv(X)) + trace(Z)
subject to
    top:     diag(X) <= 1
    bottom:  diag(Z) >= 1
    sums:    sum(v) == 1
    pairs:   [[u[j], 1], [1, t]] >> 0            for j in m
    blocks:  [[X, W[j, :].T], [W[j, :], u[j]]] >> 0 for j in m
    order:   Z << 2 * eye(n)
    queries: W[j, :] @ inv(X) @ W[j, :].T <= t   for j in m
    single:  [[u[0], v[0]], [v[0], 1]] >> 0
strategy
    factor(X) norm 2
"""


def counted(found: list[Cone]) -> tuple[Counter[int], int, int, int]:
    """Psd cones by size; second-order cones; nonnegative rows; equal rows."""
    psd: Counter[int] = Counter()
    for cone in found:
        if cone.kind == "psd":
            psd[cone.size] += cone.count
    kinds = {k: sum(c.count for c in found if c.kind == k) for k in ("second-order", "nonnegative", "zero")}
    return psd, kinds["second-order"], kinds["nonnegative"], kinds["zero"]


def handed(program: Program, workload: Workload) -> tuple[Counter[int], int, int, int, int]:
    lowered = lower(bind(program, workload))
    data, _, _ = lowered.problem.get_problem_data("CLARABEL", solver_opts={"use_quad_obj": False})
    dims = data["dims"]
    return Counter(dims.psd), len(dims.soc), dims.nonneg, dims.zero, data["c"].size


def test_counted_is_handed_over(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    for name in [*CONVEX, "more"]:
        with subtests.test(name=name):
            program = Program.parse(MORE) if name == "more" else Program.load(name)
            for w in (Workload.from_matrix(np.tri(4), targets=np.ones(4)), random_workload(rng)):
                instance = bind(program, w)
                psd, soc, nonnegative, zero, unknowns = handed(program, w)
                assert counted(cones(instance.checked, instance.sizes())) == (psd, soc, nonnegative, zero)
                assert variables(instance.checked, instance.sizes()) == unknowns


def test_cones_of_the_shipped_programs(subtests: pytest.Subtests) -> None:
    for name, expected in [
        ("l2_strategy", [("psd", 10, 1, "objective"), ("nonnegative", 1, 5, "sensitivity")]),
        ("l2_strategy_lmi", [("psd", 6, 5, "lmi"), ("nonnegative", 1, 5, "sensitivity")]),
        (
            "fitness_for_use",
            [("psd", 10, 1, "privacy"), ("nonnegative", 1, 5, "privacy"), ("nonnegative", 1, 5, "accuracy")],
        ),
        (
            "query_weighting",
            [
                ("second-order", 3, 5, "inverse"),
                ("nonnegative", 1, 5, "sensitivity"),
                ("nonnegative", 1, 5, "u"),
                ("nonnegative", 1, 5, "v"),
            ],
        ),
    ]:
        with subtests.test(name=name, expected=expected):
            instance = bind(Program.load(name), Workload.from_matrix(np.tri(5), targets=np.ones(5)))
            found = cones(instance.checked, instance.sizes())
            assert sorted((c.kind, c.size, c.count, c.origin) for c in found) == sorted(expected)


def test_rows_that_a_product_fills(subtests: pytest.Subtests) -> None:
    """With a matrix of 5 x 5 unknowns; the diagonal of an unknown fills nothing."""
    for name, expected in [("l2_strategy", {}), ("fitness_for_use", {"privacy": 15, "accuracy": 15})]:
        with subtests.test(name=name, expected=expected):
            instance = bind(Program.load(name), Workload.from_matrix(np.tri(5), targets=np.ones(5)))
            found = cones(instance.checked, instance.sizes())
            assert {c.origin: c.filled for c in found if c.filled} == expected


def test_a_low_rank_workload_needs_a_smaller_cone() -> None:
    instance = bind(Program.load("l2_strategy"), Workload.from_matrix(np.ones((1, 6))))
    (psd,) = (c for c in cones(instance.checked, instance.sizes()) if c.kind == "psd")
    assert psd.size == 7


def test_an_inverse_that_stands_twice_needs_one_cone() -> None:
    instance = bind(Program.parse(MORE), Workload.from_matrix(np.tri(3)))
    blocks = [
        c for c in cones(instance.checked, instance.sizes()) if c.origin == "queries" and c.kind == "psd"
    ]
    assert [(c.size, c.count) for c in blocks] == [(6, 1)]


def test_a_block_that_exceeds_a_matrix(subtests: pytest.Subtests) -> None:
    """``[[…]] >> M`` is not ``[[…]] >> 0``, also for a block of four numbers (a second-order cone)."""
    for size in [2, 3]:
        with subtests.test(size=size):
            entries = ", ".join(
                "[" + ", ".join("t" if i == j else "0" for j in range(size)) + "]" for i in range(size)
            )
            text = (
                MORE[: MORE.index("subject to")] + f"subject to\n    block: [{entries}] >> 5 * eye({size})\n"
            )
            text = text.replace("trace(Z)", "trace(Z) + sum(v**2)")
            text += "    top: diag(X) <= 1\nstrategy\n    factor(X) norm 2\n"
            lowered = lower(bind(Program.parse(text), Workload.from_matrix(np.tri(3))))
            lowered.problem.solve(solver="CLARABEL")
            assert lowered.variables["t"].value == pytest.approx(5.0, rel=1e-6)
