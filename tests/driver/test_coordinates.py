"""Variables as a vector of numbers: there and back, and its derivatives.

Guards smooth_search.py.
"""

import numpy as np

from mmopt.driver.judge.score_and_meaning import draw_value
from mmopt.driver.smooth_search import Coordinates
from mmopt.language import Program
from mmopt.numerics.float_functions import EIGENVALUE_FLOOR

TEXT = """program trial
class smooth
given
    W: matrix[m, n] = workload.matrix
choose
    s: scalar
    v: vector[n] >= 0
    w: vector[m] > 0
    A: matrix[m, n]
    M: symmetric[n, n]
    X: psd[n, n]
minimize
    s
strategy
    factor(X) norm 2
"""
COORDINATES = Coordinates(Program.parse(TEXT).choose, {"m": 3, "n": 4})


def drawn(rng: np.random.Generator) -> dict[str, np.ndarray]:
    return {d.name: draw_value(rng, d, d.shape(COORDINATES.sizes)) for d in COORDINATES.declarations}


def test_there_and_back(rng: np.random.Generator) -> None:
    values = drawn(rng)
    assert (values["v"] >= 0).all() and (values["w"] > 0).all()
    assert (values["M"] == values["M"].T).all() and np.linalg.eigvalsh(values["X"])[0] > 0.05
    x = COORDINATES.pack(values)
    assert x.shape == (1 + 4 + 3 + 12 + 10 + 10,)
    assert sum(map(COORDINATES.length, COORDINATES.declarations)) == x.size
    for name, value in COORDINATES.unpack(x).items():
        np.testing.assert_allclose(value, values[name], rtol=1e-7, atol=1e-8)
        assert value.shape == np.shape(values[name])


def test_points_that_break_a_declaration_are_mended() -> None:
    zero = {d.name: np.zeros(d.shape(COORDINATES.sizes)) for d in COORDINATES.declarations}
    point = COORDINATES.unpack(COORDINATES.pack({**zero, "v": -np.ones(4), "X": -np.eye(4)}))
    assert (point["v"] == 0).all() and (point["w"] == EIGENVALUE_FLOOR).all()
    assert np.linalg.eigvalsh(point["X"])[0] >= 0 and np.abs(point["X"]).max() <= 1e-9


def test_derivatives(rng: np.random.Generator) -> None:
    """The sum of weights times entries has as gradient by each variable its weights."""
    weights = {d.name: rng.normal(size=d.shape(COORDINATES.sizes)) for d in COORDINATES.declarations}
    x = COORDINATES.pack(drawn(rng))

    def value(x: np.ndarray) -> float:
        return sum(float(np.sum(weights[n] * v)) for n, v in COORDINATES.unpack(x).items())

    steps = 1e-6 * np.eye(x.size)
    expected = [(value(x + step) - value(x - step)) / 2e-6 for step in steps]
    np.testing.assert_allclose(COORDINATES.chain_gradients(x, weights), expected, atol=1e-6)
    only = COORDINATES.chain_gradients(x, {"A": weights["A"]})
    assert np.count_nonzero(only) == 12


def test_limits() -> None:
    ends = np.cumsum([COORDINATES.length(d) for d in COORDINATES.declarations])
    parts = zip(COORDINATES.declarations, np.split(COORDINATES.lower(), ends[:-1]), strict=True)
    lower = {d.name: part for d, part in parts}
    for name, limit in {"v": 0.0, "w": EIGENVALUE_FLOOR, "X": -np.inf, "s": -np.inf}.items():
        assert (lower[name] == limit).all(), name
