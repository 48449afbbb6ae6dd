"""Exponentials and logarithms are taken of plain numbers: only then does a program have a scale."""

import numpy as np
import pytest

from mmopt import Program, Workload
from mmopt.compiler import bind, scale

TEXT = """program trial
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
        with subtests.test(objective=objective, power=power):
            instance = bind(
                Program.parse(TEXT.format(objective=objective)), Workload.from_matrix(3.0 * np.tri(4))
            )
            _, scaling = scale(instance)
            assert (scaling.scales == {}) == (power is None)
            if power is not None:
                assert scaling.objective == pytest.approx(scaling.scales["queries"] ** power)
