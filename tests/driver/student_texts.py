"""Programs as a student writes them, one of each kind of cone: designs, norms, bands, entropies."""

# ruff: noqa: E501 - a section stands on one line

from collections.abc import Mapping

import numpy as np

__all__ = ["STUDENT_PROGRAMS", "givens_of"]

_W = "given\n    W: matrix[r, n] = workload.root\n"
_DESIGN = "choose\n    d: vector[n] >= 0\n{0}\nsubject to\n    total: sum(d) <= 1\nstrategy\n    diag(sqrt(d)) norm 2\n"
_STRATEGY = "choose\n    X: psd[n, n]\n{0}\nstrategy\n    factor(X) norm 2\n"
_VECTOR = "choose\n    x: vector[n]\n{0}\nstrategy\n    eye(n) norm 2\n"

_LINES: Mapping[str, str] = {
    "a_optimal": _DESIGN.format("minimize\n    trace(inv(W @ diag(d) @ W.T))"),
    "d_optimal": _DESIGN.format("maximize\n    logdet(W @ diag(d) @ W.T)"),
    "e_optimal": _DESIGN.format("maximize\n    lambda_min(W @ diag(d) @ W.T)"),
    "entropic": _DESIGN.format("maximize\n    sum(entropy(d)) + 0.1 * logdet(W @ diag(d) @ W.T)"),
    "minimax": (
        "choose\n    X: psd[n, n]\n    t: scalar\nminimize\n    t\nsubject to\n    cost: diag(X) <= 1\n"
        "    each: diag(W @ inv(X) @ W.T) <= t\nstrategy\n    factor(X) norm 2\n"
    ),
    "caps": _STRATEGY.format(
        "minimize\n    trace(W @ inv(X) @ W.T)\nsubject to\n    cost: X[i, i] <= 1 for i in n\n"
        "    caps: W[j, :] @ inv(X) @ W[j, :].T <= 8 for j in r"
    ),
    "gamma_2": _STRATEGY.format(
        "minimize\n    max(diag(W @ inv(X) @ W.T))\nsubject to\n    cost: diag(X) <= 1"
    ),
    "banded": _STRATEGY.format(
        "minimize\n    trace(W @ inv(X) @ W.T)\nsubject to\n    cost: diag(X) <= 1\n"
        "    band: X[i, j] == 0 for |i - j| >= 3"
    ),
    "toeplitz": _STRATEGY.format(
        "minimize\n    trace(W @ inv(X) @ W.T)\nsubject to\n    cost: diag(X) <= 1\n"
        "    shift: X[i, j] == X[i + 1, j + 1] for i, j in n - 1"
    ),
    "linear": _VECTOR.format(
        "minimize\n    c @ x\nsubject to\n    low: W @ x >= 1\n    up: norm(x, inf) <= 10"
    ),
    "quadratic": _VECTOR.format(
        "minimize\n    sum((W @ x)**2) + c @ x\nsubject to\n    whole: sum(x) == 1\n    low: x >= 0"
    ),
    "robust": _VECTOR.format(
        "minimize\n    sum(huber(W @ (x - c))) + 0.1 * norm(x, 1) + norm(x)\nsubject to\n    some: max(sum(x), 2) <= 5"
    ),
    "fractions": (
        "choose\n    d: vector[n] >= 0\nmaximize\n    sum(d**0.3) - sum(d**1.5) - sum(rel_entropy(d, ones(n)))\n"
        "subject to\n    pairs: sum(d[i] * d0[i] for i in n if i > 0) <= 3\nstrategy\n    eye(n) norm 2\n"
    ),
}

_GIVEN = {"linear": "c", "quadratic": "c", "robust": "c", "fractions": "d0"}


def _text(name: str) -> str:
    given = f"    {_GIVEN[name]}: vector[n] >= 0\n" if name in _GIVEN else ""
    return f"program {name}\n{_W}{given}{_LINES[name]}"


STUDENT_PROGRAMS: Mapping[str, str] = {name: _text(name) for name in _LINES}


def givens_of(name: str, n: int) -> dict[str, np.ndarray]:
    """What the caller passes to the program over n cells."""
    return {_GIVEN[name]: 1.0 + np.arange(n) / n} if name in _GIVEN else {}
