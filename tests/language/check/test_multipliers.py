"""Multipliers of equalities are free, those of matrix inequalities psd: what a certificate may start from.

Guards compiler/lower_to_cvxpy.py.
"""

import numpy as np
import pytest

from mmopt import Program, Workload, solve

QUADRATIC = """program quadratic
given
    W: matrix[n, n] = workload.root
    c: vector[n]
choose
    x: vector[n]
minimize
    sum((W @ x)**2) + c @ x
subject to
    total: sum(x) == 1
    low: x >= 0
strategy
    eye(n) norm 2
certificate
    y: scalar from dual(total), l: vector[n] >= 0 from dual(low)
    -y - (c + y * ones(n) - l) @ inv(W.T @ W) @ (c + y * ones(n) - l) / 4
"""
# The pairs that the condition leaves out have no multiplier: M is 0 there.
PAIRS = """program pairs
given
    W: matrix[n, n] = workload.root
    C: matrix[n, n]
choose
    X: matrix[n, n]
minimize
    sum((X - C)**2)
subject to
    off: X[i, j] == 0 for i, j in n if i != j
strategy
    eye(n) norm 2
certificate
    M: matrix[n, n] from dual(off)
    sum(M * C) - sum(M**2) / 4
"""
ROTATION = """program rotation
given
    W: matrix[n, n] = workload.root
    C: symmetric[n, n]
choose
    X: psd[n, n]
maximize
    trace(C @ X)
subject to
    cap: X << eye(n)
strategy
    eye(n) norm 2
certificate
    Z: psd[n, n] from dual(cap)
    trace(Z) + n * max(lambda_max(C - Z), 0)
"""
SHARES = """program shares
given
    W: matrix[n, n] = workload.root
    c: vector[n]
choose
    x: vector[n] >= 0
maximize
    c @ x
subject to
    total: 1 == sum(x)
strategy
    eye(n) norm 2
certificate
    y: scalar from dual(total)
    -y + max(max(c + y * ones(n)), 0)
"""


def test_the_dual_of_the_solver_closes_the_gap(subtests: pytest.Subtests, rng: np.random.Generator) -> None:
    """The signs are those of the reference: the wrong one would leave a gap, of shares that all cost."""
    n = 5
    c = rng.normal(size=(n, n))
    for text in (QUADRATIC, PAIRS, ROTATION, SHARES):
        program = Program.parse(text)
        with subtests.test(program.name):
            given = {"c": -np.abs(c[0]) if text is SHARES else c[0], "C": c if text is PAIRS else c + c.T}
            givens = {d.name: given[d.name] for d in program.givens if not d.source}
            found = solve(Workload.from_matrix(np.eye(n)), program, givens=givens, derive=False)
            assert found.bound is not None and found.gap is not None
            assert -1e-7 <= found.gap <= 1e-5
            if text is PAIRS:  # a line of pairs has a matrix of multipliers
                m = np.asarray(found.multipliers["off"])
                assert m.shape == (n, n) and not np.diag(m).any() and (m[~np.eye(n, dtype=bool)] != 0).all()
