"""Soft maxima in their weights: the concave dual of ``softmax_step``, its gradient and a second-order step.

For weights p of the cells and q of the queries, of sum 1 each, with the targets c and the factor h of the
hybrid term,

    D(p, q) = 2 ‖diag(√(q / c + h)) W diag(√p)‖∗ + H(p) / t₁ + H(q) / t₂,    H(y) = - Σ y log y,

is a lower bound, since logsumexp(t a) / t = max over y of a @ y + H(y) / t. At the maximum p is the soft
maximum's own weighting of the privacy costs and q that of the variances. In logarithms x of the weights the
Hessian is nearly -(Q + diag(y / t)), Q as in ``nuclear.newton``. Where a cell or query could cost nothing
weights would fall without end, and with them digits: a logarithmic barrier holds them, as there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy.special import logsumexp

from mmopt.numerics.components import Array
from mmopt.solvers.nuclear.exponentials import exponentials
from mmopt.solvers.nuclear.problem import Part
from mmopt.solvers.nuclear.spectrum import spectrum

__all__ = ["Soft", "State", "direction", "state"]


ROWS = 512  # of the Hessian, formed at a time
RIDGE = 1e-14  # on a unit diagonal: its rounding


@dataclass(frozen=True)
class Soft:
    """rows (m, n): W. targets (m,): c. hybrid: h. rank: of W. cells, queries: t₁ and t₂."""

    rows: Array
    targets: Array
    hybrid: float
    rank: int
    cells: float
    queries: float


@dataclass(frozen=True)
class State:
    """Logarithms of the weights (of sum 1), and what follows from them.

    noise (n, k): F with Σ = B F Fᵀ Bᵀ. sides: U / √(q + c h) (m, k) and V / √p (n, k) of the singular
    vectors. values: s (k,). costs (n,), variances (m,): of Σ, the latter relative to the targets. upper,
    lower: the objective at Σ, and D.
    """

    p: Array
    q: Array
    noise: Array
    sides: tuple[Array, Array]
    values: Array
    costs: Array
    variances: Array
    upper: float
    lower: float

    @property
    def gap(self) -> float:
        return self.upper / self.lower - 1.0


def _whole(logs: Array) -> Array:
    """Logarithms of weights of sum 1."""
    return np.asarray(logs - logsumexp(logs))


def state(soft: Soft, p: Array, q: Array) -> State:
    """Everything that is asked of logarithms of weights, which are first brought to sum 1."""
    p, q = _whole(p), _whole(q)
    cells, queries = np.exp(p), np.exp(q)
    floors = soft.hybrid * soft.targets
    scaled = (queries + floors) / soft.targets
    part = Part(soft.rows, 1.0, np.arange(len(cells)), np.arange(len(queries)), soft.rank)
    found = spectrum(part, soft.rank, cells, scaled)
    values = np.asarray(found.values)
    # From the larger vectors, so that the rows of small weights lose no digits.
    right = (soft.rows.T @ (np.sqrt(scaled)[:, None] * found.left)) / values
    noise = np.sqrt(cells)[:, None] * found.right / np.sqrt(values)
    left = (soft.rows @ (np.sqrt(cells)[:, None] * found.right)) / values / np.sqrt(soft.targets)[:, None]
    costs = np.square(right) @ values
    variances = np.square(left) @ values
    upper = _soft(soft.cells, costs) + _soft(soft.queries, variances) + float(floors @ variances)
    lower = 2.0 * float(values.sum()) - float(cells @ p) / soft.cells - float(queries @ q) / soft.queries
    return State(p, q, noise, (left, right), values, costs, variances, upper, lower)


def _soft(t: float, values: Array) -> float:
    return float(logsumexp(t * values)) / t


def direction(soft: Soft, at: State, barrier: float) -> tuple[Array, Array]:
    """Newton's step of the logarithms up D + barrier * Σ x, along which both sums of weights stay 1."""
    m = len(at.q)
    logs = np.concatenate([at.q, at.p])
    y = np.exp(logs)
    t = np.concatenate([np.full(m, soft.queries), np.full(len(at.p), soft.cells)])
    slopes = y * (np.concatenate([at.variances, at.costs]) - logs / t)
    is_query = np.arange(len(y)) < m
    groups = (is_query, ~is_query)
    levels = np.zeros(len(y))
    for own in groups:
        levels[own] = slopes[own].sum() + barrier * np.count_nonzero(own)
    slack = np.maximum(levels * y - slopes, barrier)
    matrix = _curvature(soft, at, y)
    matrix[np.diag_indices_from(matrix)] += y / t + slack
    # With a unit diagonal rows and columns of weights that are nearly gone are as good as any.
    scales = 1.0 / np.sqrt(np.diagonal(matrix).copy())
    matrix *= scales
    matrix *= scales[:, None]
    matrix[np.diag_indices_from(matrix)] += RIDGE
    right = np.stack([slopes + barrier - levels * y, y * is_query, y * ~is_query], axis=1)
    factor = scipy.linalg.cho_factor(matrix, lower=True, overwrite_a=True, check_finite=False)
    solved = scipy.linalg.cho_solve(factor, right * scales[:, None], check_finite=False)
    free, along_q, along_p = (solved * scales[:, None]).T
    system = np.array([[y[own] @ along[own] for along in (along_q, along_p)] for own in groups])
    shift = np.linalg.solve(system, np.array([y[own] @ free[own] for own in groups]))
    step = free - shift[0] * along_q - shift[1] * along_p
    return step[m:], step[:m]


def _curvature(soft: Soft, at: State, y: Array) -> Array:
    """Q, its lower triangle; queries before cells."""
    values, m = at.values, len(at.q)
    z = np.concatenate(at.sides) * np.sqrt(y)[:, None]
    sign = np.where(np.arange(len(y)) < m, 1.0, -1.0)
    terms = exponentials(2 * float(values.min()), 2 * float(values.max()))
    total = np.zeros((len(y), len(y)))
    for start in range(0, len(y), ROWS):
        end = min(start + ROWS, len(y))
        for a, w in terms:
            product = (z[start:end] * (values * np.exp(-a * values) * w**0.5)) @ z[:end].T
            total[start:end, :end] += product**2
    total *= sign[:, None]
    total *= sign
    return total
