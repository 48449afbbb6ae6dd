"""Optima of the public models from formulas and by plain cvxpy, as they stand in ``public_programs.txt``."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import cvxpy
import numpy as np

cp: Any = cvxpy  # its names are not all typed
Data = Mapping[str, Any]
Model = Callable[[Data], tuple[Any, list[Any]]]  # what is minimized or maximized, and the lines


def _collar(d: Data) -> Any:
    y, price = cp.Variable(d["V"].shape[1], nonneg=True), cp.Variable()
    return cp.Maximize(price), [d["V"] @ y == d["p"], d["v"] @ y == price]


def _quantile(d: Data) -> Any:
    return cp.Minimize(0.5 * cp.norm1(d["b"] - d["A"] @ cp.Variable(3))), []


def _shortfall(d: Data) -> Any:
    w, a = cp.Variable(3, nonneg=True), cp.Variable()
    return cp.Minimize(a + cp.sum(cp.pos(-d["R"] @ w - a)) / (12 * (1 - 0.95))), [cp.sum(w) == 1]


def _power(d: Data) -> Any:
    p = cp.Variable(5)
    return cp.Minimize(cp.sum(p)), [p >= 0.3 * (d["G"] @ p + d["noise"]), p <= 5]


def _short(d: Data) -> Any:
    h = cp.Variable(4)
    risk = cp.sum_squares(cp.multiply(np.sqrt(d["s"]), h))
    return cp.Minimize(risk - d["a"] @ h), [d["B"] @ h <= d["most"]]


def _lasso(d: Data) -> Any:
    x = cp.Variable(5)
    return cp.Minimize(cp.sum_squares(d["A"] @ x - d["b"]) + 2 * cp.norm1(x)), []


def _dual_machine(d: Data) -> Any:
    a = cp.Variable(12, nonneg=True)
    goal = cp.sum(a) - cp.sum_squares(d["X"].T @ cp.multiply(d["y"], a)) / 2
    return cp.Maximize(goal), [a <= 0.95, a @ d["y"] == 0]


def _control(d: Data) -> Any:
    x, u = cp.Variable((4, 9)), cp.Variable((2, 8))
    steps = [x[:, 1:] == d["A"] @ x[:, :-1] + d["B"] @ u, x[:, 0] == d["x0"]]
    return cp.Minimize(cp.sum_squares(x) + cp.sum_squares(u)), [*steps, cp.abs(u) <= 1]


def _quadratic(d: Data) -> Any:
    x = cp.Variable(8)
    return cp.Maximize(d["a"] @ x - cp.quad_form(x, d["P"]) / 2), [d["G"] @ x <= d["h"]]


def _tracking(d: Data) -> Any:
    w = cp.Variable(15, nonneg=True)
    off = w - d["bench"]
    error = cp.sum_squares(d["F"] @ off) <= 0.07**2 / 250
    return cp.Maximize(d["alpha"] @ off), [cp.norm1(off) <= 1, cp.sum(w) == 1, w <= 0.15, error]


def _ratio(d: Data) -> Any:
    y, k = cp.Variable(8, nonneg=True), cp.Variable()
    return cp.Minimize(cp.sum_squares(d["F"] @ y)), [
        (d["mu"] - 0.02) @ y == 1,
        cp.sum(y) == k,
        cp.sum(y[:3]) <= 0.4 * k,
    ]


def _catenary(d: Data) -> Any:
    x, y = cp.Variable(7), cp.Variable(7)
    links = cp.square(x[1:] - x[:-1]) + cp.square(y[1:] - y[:-1]) <= d["h"] ** 2
    return cp.Minimize(cp.sum(y)), [x[0] == 0, x[6] == 1, y[0] == 1, y[6] == 1, links]


def _variation(d: Data) -> Any:
    x = cp.Variable((6, 6))
    rough = cp.sum(cp.abs(x[1:] - x[:-1])) + cp.sum(cp.abs(x[:, 1:] - x[:, :-1]))
    return cp.Minimize(cp.sum_squares(x - d["Y"]) / 2 + 0.3 * rough), []


def _divergence(d: Data) -> Any:
    p = cp.Variable(10, nonneg=True)
    return cp.Minimize(cp.sum(cp.rel_entr(p, np.full(10, 0.1)))), [cp.sum(p) == 1, d["y"] @ p == 0.5]


def _logistic(d: Data) -> Any:
    w = cp.Variable(3)
    loss = cp.sum(cp.logistic(cp.multiply(-d["y"], d["X"] @ w))) / 12
    return cp.Minimize(loss + 0.05 * cp.norm1(w)), []


def _at_risk(d: Data) -> Any:
    w, z, a, u = cp.Variable(3, nonneg=True), cp.Variable(nonneg=True), cp.Variable(), cp.Variable(6)
    tail = cp.ExpCone(-(a + d["R"] @ w), z * np.ones(6), u)
    return cp.Minimize(a - z * np.log(0.25 * 6)), [cp.sum(w) == 1, tail, cp.sum(u) <= z]


def _lyapunov(d: Data) -> Any:
    p, one = cp.Variable((4, 4), symmetric=True), np.eye(4)
    return cp.Minimize(cp.trace(p)), [d["A"].T @ p + p @ d["A"] << -one, p >> one]


def _correlation(d: Data) -> Any:
    r = cp.Variable((4, 4), PSD=True)
    limits = [(0, 1, 0.6, 0.9), (0, 2, 0.8, 0.9), (1, 3, 0.5, 0.7), (2, 3, -0.8, -0.4)]
    lines = [line for i, j, low, up in limits for line in (r[i, j] >= low, r[i, j] <= up)]
    return cp.Minimize(r[0, 3]), [cp.diag(r) == 1, *lines]


def _below(d: Data) -> Any:
    x = cp.Variable((3, 3), PSD=True)
    return cp.Maximize(cp.log_det(x)), [x << d["P"], x << d["S"]]


def _covariance(d: Data) -> Any:
    s = cp.Variable((4, 4), PSD=True)
    return cp.Maximize(cp.log_det(s) - cp.trace(s @ d["Y"])), [cp.sum(cp.abs(s)) <= 4]


def _multiples(d: Data) -> Any:
    x, a = cp.Variable((4, 4), PSD=True), cp.Variable()
    return cp.Minimize(a), [d["D"] <= x, x <= a * d["D"]]


def _trace_norm(d: Data) -> Any:
    return cp.Minimize(cp.normNuc(cp.Constant(d["K"]) + np.zeros((3, 3)) * cp.Variable())), []


def _completion(d: Data) -> Any:
    x = cp.Variable(d["M"].shape)
    return cp.Minimize(cp.normNuc(x)), [cp.multiply(d["known"], x - d["M"]) == 0]


def _cut(d: Data) -> Any:
    x = cp.Variable((4, 4), PSD=True)
    return cp.Maximize(cp.trace(d["L"] @ x) / 4), [cp.diag(x) == 1]


def _outer(d: Data) -> Any:
    a, b = cp.Variable((2, 2), PSD=True), cp.Variable(2)
    return cp.Maximize(cp.log_det(a)), [cp.norm(a @ v + b) <= 1 for v in d["V"]]


def _inner(d: Data) -> Any:
    b, c = cp.Variable((2, 2), PSD=True), cp.Variable(2)
    lines = [cp.norm(b @ a) + a @ c <= r for a, r in zip(d["A"], d["b"], strict=True)]
    return cp.Maximize(cp.log_det(b)), lines


def _connectivity(d: Data) -> Any:
    w, g = cp.Variable(6, nonneg=True), cp.Variable()
    return cp.Maximize(g), [cp.sum(w) == 1, d["E"] @ cp.diag(w) @ d["E"].T >> g * (np.eye(5) - d["J"])]


def _hermitian(d: Data) -> Any:
    x = cp.Variable((3, 3), hermitian=True)
    return cp.Maximize(cp.real(cp.trace((d["S"] + 1j * d["K"]) @ x))), [x >> 0, cp.real(cp.trace(x)) == 1]


def _top(d: Data) -> Any:
    w = cp.Variable(6, nonneg=True)
    return cp.Maximize(d["mu"] @ w - cp.sum_squares(d["F"] @ w)), [
        cp.sum(w) == 1,
        cp.sum_largest(w, 2) <= 0.5,
    ]


def _worst(d: Data) -> Any:
    x = cp.Variable(3, nonneg=True)
    return cp.Maximize(cp.sum_smallest(d["R"] @ x, 5)), [cp.sum(x) == 1]


MODELS: dict[str, Model] = {
    "price of a collar": _collar,
    "quantile": _quantile,
    "shortfall": _shortfall,
    "power control": _power,
    "short positions with limits": _short,
    "lasso of unequal columns": _lasso,
    "dual of a support vector machine": _dual_machine,
    "control": _control,
    "quadratic program": _quadratic,
    "tracking": _tracking,
    "largest ratio": _ratio,
    "catenary": _catenary,
    "total variation": _variation,
    "least divergence": _divergence,
    "logistic": _logistic,
    "entropic value at risk": _at_risk,
    "Lyapunov": _lyapunov,
    "correlation": _correlation,
    "below two matrices": _below,
    "sparse inverse covariance": _covariance,
    "between multiples": _multiples,
    "trace norm": _trace_norm,
    "matrix completion": _completion,
    "largest cut": _cut,
    "smallest ellipse": _outer,
    "largest ellipse": _inner,
    "connectivity": _connectivity,
    "Hermitian": _hermitian,
    "top two weights": _top,
    "worst days": _worst,
}


def _queues(d: Data) -> float:
    rate, e = d["rate"], d["e"]
    return float(np.sqrt(rate * e).sum() ** 2 / (d["budget"] - e @ rate) / rate.sum())


# Of the data; the rest of the optima can be seen.
FORMULAS: dict[str, Callable[[Data], float]] = {
    "channels": lambda d: float(np.log(1 + d["g"]).sum()),
    "queues": _queues,
    "two chargers": lambda d: float((1 / (50 - d["rate"])).sum()),
    "softmax": lambda d: 0.01 * float(np.log(np.exp(d["v"] / 0.01).sum())),
    "geometric mean": lambda d: 2 * float(np.prod(d["c"]) ** (-1 / 3)),
    "over a variable": lambda d: 3 * 2 ** (2 / 3),
}


def optimum(name: str, data: Data) -> float:
    """The optimum by a formula, or by Clarabel at its finest."""
    if name in FORMULAS:
        return FORMULAS[name](data)
    finest = dict.fromkeys(("tol_gap_abs", "tol_gap_rel", "tol_feas"), 1e-11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where it cannot reach that
        return float(cp.Problem(*MODELS[name](data)).solve(cp.CLARABEL, **finest))
