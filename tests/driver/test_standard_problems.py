"""Problems of a course on convex optimisation, as a textbook writes them, are solved and proved.

The values come from plain cvxpy, or are known, at an ordinary scale around 0, and so is how they change with
scale and origin.

Guards ranges.py.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import cvxpy
import numpy as np
import pytest

from mmopt import Program, Workload, solve

cp: Any = cvxpy  # its names are not all typed
FOLDER = Path(__file__).parents[2] / "examples" / "benchmark" / "standard"
Data = Mapping[str, Any]
Rng = np.random.Generator


@dataclass(frozen=True)
class Problem:
    """A program of the folder with data.

    data : the givens at scale 1 around 0; "W" is the workload. value : of these. moved : the givens at a
    scale, around another origin, which has that scale too. law : the value at a scale, from that at scale 1.
    """

    data: Callable[[Rng], Data]
    value: Callable[[Data], float]
    moved: Callable[[Data, float, float], Data]
    law: Callable[[float, float], float]


def solved(problem: Any) -> float:
    value = problem.solve(
        solver="CLARABEL", tol_gap_abs=1e-9, tol_gap_rel=1e-9, tol_feas=1e-9, tol_ktratio=1e-9
    )
    assert problem.status == "optimal"
    return float(value)


def _points(rng: Rng) -> Data:
    return {"W": rng.normal(size=(12, 2))}


def _smallest_ellipsoid(data: Data) -> float:
    a, b = cp.Variable((2, 2), PSD=True), cp.Variable(2)
    return solved(cp.Problem(cp.Maximize(cp.log_det(a)), [cp.norm(a @ w + b) <= 1 for w in data["W"]]))


def _polyhedron(rng: Rng) -> Data:
    return {
        "W": rng.normal(size=(9, 3)),
        "low": -rng.uniform(0.5, 1.0, size=9),
        "high": rng.uniform(0.5, 1.5, size=9),
    }


def _moved_polyhedron(data: Data, scale: float, shift: float) -> Data:
    away = shift * data["W"] @ np.array([3.0, -1.0, 2.0])
    return {**data, **{end: scale * (data[end] + away) for end in ("low", "high")}}


def _largest_ellipsoid(data: Data) -> float:
    b, d = cp.Variable((3, 3), PSD=True), cp.Variable(3)
    each = [cp.norm(b @ w) for w in data["W"]]
    lines = [r + w @ d <= h for r, w, h in zip(each, data["W"], data["high"], strict=True)]
    lines += [r - w @ d <= -h for r, w, h in zip(each, data["W"], data["low"], strict=True)]
    return solved(cp.Problem(cp.Maximize(cp.log_det(b)), lines))


def _chebyshev_centre(data: Data) -> float:
    x, r, lengths = cp.Variable(3), cp.Variable(), np.linalg.norm(data["W"], axis=1)
    lines = [data["W"] @ x + r * lengths <= data["high"], data["W"] @ x - r * lengths >= data["low"]]
    return solved(cp.Problem(cp.Maximize(r), lines))


def _classes(rng: Rng) -> Data:
    w = rng.normal(size=(20, 3))
    return {"W": w, "y": np.where(w[:, 0] + rng.normal(size=20) > 0, 1.0, -1.0)}


def _logistic_regression(data: Data) -> float:
    x, c = cp.Variable(3), cp.Variable()
    misses = cp.logistic(cp.multiply(-data["y"], data["W"] @ x + c))
    return solved(cp.Problem(cp.Minimize(cp.sum(misses) + 0.1 * cp.sum_squares(x))))


def _support_vectors(data: Data) -> float:
    x, c = cp.Variable(3), cp.Variable()
    misses = cp.pos(1 - cp.multiply(data["y"], data["W"] @ x - c))
    return solved(cp.Problem(cp.Minimize(cp.sum_squares(x) / 2 + cp.sum(misses))))


def _returns(rng: Rng) -> Data:
    return {"W": rng.normal(size=(15, 5)) + np.arange(5) / 5}


def _markowitz(data: Data, *more: Callable[[Any], Any]) -> float:
    w, mean = cp.Variable(5), data["W"].mean(axis=0)
    risk = cp.sum_squares((data["W"] - mean) @ w) / 15
    return solved(cp.Problem(cp.Minimize(risk - mean @ w), [cp.sum(w) == 1, *(line(w) for line in more)]))


def _least_risk(data: Data) -> float:
    w, mean = cp.Variable(5), data["W"].mean(axis=0)
    risk = cp.sum_squares((data["W"] - mean) @ w) / 15
    risk += cp.sum(cp.multiply(0.1 * (data["W"] ** 2).mean(axis=0), cp.square(w)))
    return solved(cp.Problem(cp.Minimize(risk), [cp.sum(w) == 1, mean @ w >= mean.max()]))


def _bars(rng: Rng) -> Data:
    return {"W": rng.normal(size=(4, 8)), "f": rng.normal(size=4)}


def _truss(data: Data) -> float:
    t = cp.Variable(8, nonneg=True)
    stiffness = data["W"] @ cp.diag(t) @ data["W"].T
    return solved(cp.Problem(cp.Minimize(cp.matrix_frac(data["f"], stiffness)), [cp.sum(t) <= 1]))


def _sensors(rng: Rng) -> Data:
    return {"W": rng.normal(size=(12, 3)), "k": 5.0}


def _sensor_selection(data: Data) -> float:
    z = cp.Variable(12, nonneg=True)
    measured = data["W"].T @ cp.diag(z) @ data["W"]
    return solved(cp.Problem(cp.Maximize(cp.log_det(measured)), [z <= 1, cp.sum(z) == 5]))


def _pentagon(rng: Rng) -> Data:
    """The circle of five vertices, under other names."""
    return {"W": (np.eye(5) + np.roll(np.eye(5), 1, axis=1))[:, rng.permutation(5)]}


def _theta(_: Data) -> float:
    return float(np.sqrt(5.0))


def _fastest_mixing(_: Data) -> float:
    """By symmetry all edges have one probability p: the largest of |1 - 2 p (1 - cos)| is least."""
    angles = np.cos(2 * np.pi * np.arange(1, 3) / 5)
    return float((angles[0] - angles[1]) / (2 - angles[0] - angles[1]))


def _seen(rng: Rng) -> Data:
    return {
        "W": rng.normal(size=(5, 2)) @ rng.normal(size=(2, 4)),
        "M": np.where(rng.uniform(size=(5, 4)) < 0.6, 1.0, 0.0),
    }


def _matrix_completion(data: Data) -> float:
    x = cp.Variable((5, 4))
    return solved(
        cp.Problem(cp.Minimize(cp.normNuc(x)), [cp.multiply(data["M"], x) == data["M"] * data["W"]])
    )


def _observations(rng: Rng) -> Data:
    return {"W": rng.normal(size=(15, 4)) @ rng.normal(size=(4, 4))}


def _graphical_lasso(data: Data) -> float:
    x, s = cp.Variable((4, 4), PSD=True), data["W"].T @ data["W"] / 15
    penalty = 0.1 * np.trace(s) / 4 * cp.sum(cp.abs(x))
    return solved(cp.Problem(cp.Maximize(cp.log_det(x) - cp.trace(s @ x) - penalty)))


def _fit(rng: Rng) -> Data:
    w = rng.normal(size=(14, 3))
    return {"W": w, "y": w @ rng.normal(size=3) + rng.standard_t(2, size=14)}


def _moved_fit(data: Data, scale: float, shift: float) -> Data:
    return {**data, "y": scale * (data["y"] + shift * data["W"] @ np.array([3.0, -1.0, 2.0]))}


def _misses(cost: Callable[[Any, Any], Any]) -> Callable[[Data], float]:
    """The least cost of the misses and the weights."""

    def value(data: Data) -> float:
        x = cp.Variable(3)
        return solved(cp.Problem(cp.Minimize(cost(data["W"] @ x - data["y"], x))))

    return value


def _channel(rng: Rng) -> Data:
    """Symbols of which one in five is lost, each as likely: the capacity is 0.8 log 3."""
    return {"W": np.vstack([0.8 * np.eye(3), np.full(3, 0.2)])[rng.permutation(4)]}


def _symmetric(rng: Rng) -> Data:
    c = rng.normal(size=(4, 4))
    return {"W": np.eye(4), "C": c + c.T}


def _nearest_correlation(data: Data) -> float:
    x = cp.Variable((4, 4), PSD=True)
    return solved(cp.Problem(cp.Minimize(cp.sum_squares(x - data["C"])), [cp.diag(x) == 1]))


def _nearest_toeplitz(data: Data) -> float:
    x = cp.Variable((4, 4), PSD=True)
    return solved(cp.Problem(cp.Minimize(cp.norm(x - data["C"], "fro")), [x[1:, 1:] == x[:-1, :-1]]))


def _signal(rng: Rng) -> Data:
    return {"W": np.eye(12), "y": np.repeat([0.0, 2.0, 1.0], 4) + rng.normal(size=12) / 2}


def _total_variation(data: Data) -> float:
    x = cp.Variable(12)
    return solved(cp.Problem(cp.Minimize(cp.sum_squares(x - data["y"]) / 2 + cp.norm1(cp.diff(x)))))


def _weighted_graph(rng: Rng) -> Data:
    edges = [(i, j) for i in range(5) for j in range(i)]
    return {"W": np.array([(np.eye(5)[i] + np.eye(5)[j]) * rng.uniform(0, 1) for i, j in edges])}


def _max_cut(data: Data) -> float:
    x, graph = cp.Variable((5, 5), PSD=True), data["W"].T @ data["W"]
    laplacian = np.diag(graph.sum(axis=1)) - graph
    return solved(cp.Problem(cp.Maximize(cp.trace(laplacian @ x) / 4), [cp.diag(x) == 1]))


def _system(rng: Rng) -> Data:
    a = rng.normal(size=(3, 3))
    return {"W": np.eye(3), "A": a - (0.5 + np.linalg.eigvals(a).real.max()) * np.eye(3)}


def _lyapunov(data: Data) -> float:
    """The least P solves the equation."""
    a, one = data["A"], np.eye(3)
    p = np.linalg.solve(np.kron(one, a.T) + np.kron(a.T, one), -one.ravel())
    return float(np.trace(p.reshape(3, 3)))


def _inputs(rng: Rng) -> Data:
    return {"W": rng.normal(size=(3, 10)), "goal": 3 * rng.normal(size=3)}


def _minimum_fuel(data: Data) -> float:
    u = cp.Variable(10)
    fuel = cp.sum(cp.maximum(cp.abs(u), 2 * cp.abs(u) - 1))
    return solved(cp.Problem(cp.Minimize(fuel), [data["W"] @ u == data["goal"]]))


def scaled(*names: str, **powers: int) -> Callable[[Data, float, float], Data]:
    """These givens times the scale, others times a power of it; no other origin."""
    each = {**dict.fromkeys(names, 1), **powers}

    def moved(data: Data, scale: float, _: float) -> Data:
        return {
            **data,
            **{name: scale**power * np.asarray(data.get(name, 1.0)) for name, power in each.items()},
        }

    return moved


def lifted(name: str, **powers: int) -> Callable[[Data, float, float], Data]:
    """A given with the shift added to its first and last column (or all its entries), and scaled."""

    def moved(data: Data, scale: float, shift: float) -> Data:
        away = shift * np.linspace(47.0, 15.0, data[name].shape[1]) / 10 if data[name].ndim == 2 else shift
        return scaled(**{name: 1, **powers})({**data, name: data[name] + away}, scale, shift)

    return moved


def power(exponent: int) -> Callable[[float, float], float]:
    return lambda value, scale: value * scale**exponent


def logarithm(factor: int) -> Callable[[float, float], float]:
    return lambda value, scale: value + factor * np.log(scale)


PROBLEMS = {
    "smallest_ellipsoid": Problem(_points, _smallest_ellipsoid, lifted("W"), logarithm(-2)),
    "largest_ellipsoid": Problem(_polyhedron, _largest_ellipsoid, _moved_polyhedron, logarithm(3)),
    "chebyshev_centre": Problem(_polyhedron, _chebyshev_centre, _moved_polyhedron, power(1)),
    "logistic_regression": Problem(
        lambda rng: {**_classes(rng), "ridge": 0.1}, _logistic_regression, lifted("W", ridge=2), power(0)
    ),
    "support_vectors": Problem(_classes, _support_vectors, lifted("W", cost=-2), power(-2)),
    "markowitz_long_only": Problem(
        _returns, lambda data: _markowitz(data, lambda w: w >= 0), scaled("W", risk=-1), power(1)
    ),
    "markowitz_leverage": Problem(
        _returns, lambda data: _markowitz(data, lambda w: cp.norm1(w) <= 1.6), scaled("W", risk=-1), power(1)
    ),
    "least_risk": Problem(_returns, _least_risk, scaled("W"), power(2)),
    "truss": Problem(_bars, _truss, scaled("f"), power(2)),
    "sensor_selection": Problem(_sensors, _sensor_selection, scaled("W"), logarithm(6)),
    "lovasz_theta": Problem(_pentagon, _theta, scaled("W"), power(0)),
    "lovasz_theta_dual": Problem(_pentagon, _theta, scaled("W"), power(0)),
    "fastest_mixing": Problem(_pentagon, _fastest_mixing, scaled("W"), power(0)),
    "matrix_completion": Problem(_seen, _matrix_completion, scaled("W"), power(1)),
    "graphical_lasso": Problem(_observations, _graphical_lasso, scaled("W"), logarithm(-8)),
    "huber_regression": Problem(
        _fit,
        _misses(lambda miss, x: cp.sum(cp.huber(miss))),
        lambda data, scale, shift: {**_moved_fit(data, scale, shift), "knee": scale},
        power(2),
    ),
    "largest_miss": Problem(_fit, _misses(lambda miss, x: cp.norm_inf(miss)), _moved_fit, power(1)),
    "robust_least_squares": Problem(
        lambda rng: {**_fit(rng), "rho": 1.0},
        _misses(lambda miss, x: cp.norm(miss) + cp.norm(x)),
        scaled("y"),
        power(1),
    ),
    "channel_capacity": Problem(_channel, lambda data: 0.8 * np.log(3.0), scaled("W"), power(0)),
    "nearest_correlation": Problem(_symmetric, _nearest_correlation, scaled(), power(0)),
    "nearest_toeplitz": Problem(_symmetric, _nearest_toeplitz, scaled("C"), power(1)),
    "total_variation": Problem(_signal, _total_variation, lifted("y", weight=1), power(2)),
    "max_cut": Problem(_weighted_graph, _max_cut, scaled("W"), power(2)),
    "lyapunov": Problem(_system, _lyapunov, scaled("A"), power(-1)),
    "minimum_fuel": Problem(_inputs, _minimum_fuel, scaled("W", "goal"), power(0)),
}

SETTINGS = [(1.0, 0.0), (1e3, 0.0), (1e-3, 0.0), (1.0, 10.0), (1e3, 10.0)]  # scales and shifts


@pytest.mark.parametrize("count", [5, pytest.param(2 * len(PROBLEMS), marks=pytest.mark.slow)])
def test_it_is_solved_and_proved_at_any_scale(count: int, rng: Rng, subtests: pytest.Subtests) -> None:
    for name in [*rng.permutation(list(PROBLEMS)), *rng.permutation(list(PROBLEMS))][:count]:
        problem, (scale, shift) = PROBLEMS[name], rng.permuted(SETTINGS, axis=0)[0]
        with subtests.test(str(name), scale=float(scale), shift=float(shift)):
            data = problem.data(rng)
            value = problem.law(problem.value(data), scale)
            givens = dict(problem.moved(data, scale, shift))
            workload = Workload.from_matrix(givens.pop("W"))
            found = solve(workload, Program.load(FOLDER / f"{name}.program"), givens=givens)
            assert found.objective == pytest.approx(value, rel=1e-5, abs=1e-5 * scale * found.is_logarithmic)
            assert found.bound_grade == "proved" and found.gap <= 1e-5


def test_every_problem_of_the_folder_is_tried() -> None:
    assert {path.stem for path in FOLDER.glob("*.program")} == set(PROBLEMS)


TINY = """program tiny
given
    c: vector[k] > 0
    T: scalar > 0
choose
    t: vector[k] >= 0
    v: vector[k]
minimize
    c @ v
subject to
    each: [[t[j], 1], [1, v[j]]] >> 0 for j in k
    total: sum(t) <= T
"""


@pytest.mark.parametrize("c", [[7.0], [3.0, 1.0, 9.0, 2.0]])
def test_a_tiny_optimum_is_reached_and_proved(c: list[float], rng: Rng) -> None:
    limit = float(rng.choice([1e3, 1e4, 1e6, 1e8]))
    least = np.sqrt(c).sum() ** 2 / limit
    found = solve([[1]], Program.parse(TINY), givens={"c": np.array(c), "T": limit})
    assert found.objective == pytest.approx(least, rel=1e-5)
    assert found.bound == pytest.approx(least, rel=1e-5) and found.bound_grade == "proved"
