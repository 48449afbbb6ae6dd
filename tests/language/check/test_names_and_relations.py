"""Which objectives are logarithms.

Guards names_and_relations.py.
"""

import numpy as np
import pytest

from mmopt.language import Program, check
from mmopt.numerics.float_functions import polar


def test_polar_is_the_nearest_orthogonal_matrix(rng: np.random.Generator) -> None:
    m = rng.normal(size=(4, 4))
    p = polar(m)
    assert p @ p.T == pytest.approx(np.eye(4), abs=1e-12)
    stretch = p.T @ m
    assert stretch == pytest.approx(stretch.T, abs=1e-12) and np.linalg.eigvalsh(stretch)[0] >= 0
    for _ in range(20):
        other = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        assert np.linalg.norm(m - p) <= np.linalg.norm(m - other)
    assert np.isnan(polar(np.array([[np.inf, 0.0], [0.0, 1.0]]))).all()


LOGARITHMS = [
    ("minimize", "-logdet(X)", True),
    ("maximize", "2 * g - sum(log(u)) / 3", True),
    ("maximize", "sum(log(v[i] + i) for i in m if i > 0)", True),
    ("maximize", "trace(X) * log(3)", False),
    ("maximize", "sum(v[i] * log(i + u[i]) for i in m)", False),
    ("maximize", "trace(X) + h + log(m)", False),
    ("maximize", "trace(X) / log(h)", False),
    ("minimize", "logsumexp(v)", False),
]


LOGARITHM = """program one
given
    W: matrix[m, n] = workload.root
    u: vector[m] > 0
let
    h = log(sum(u))
    g = logdet(X)
choose
    X: psd[n, n]
    v: vector[m] >= 0
minimize
    0
subject to
    diag(X) <= 1
strategy
    factor(X) norm 2
"""


def test_only_the_logarithm_of_what_is_chosen_makes_an_objective_one(subtests: pytest.Subtests) -> None:
    for sense, objective, is_one in LOGARITHMS:
        with subtests.test(objective):
            text = LOGARITHM.replace("minimize\n    0", f"{sense}\n    {objective}")
            text = text if "g" in objective.split() else text.replace("    g = logdet(X)\n", "")
            assert check(Program.parse(text)).is_logarithmic == is_one
