"""A lower bound on total error over all strategies, beside every strategy wherever it came from.

It is ``l2_strategy``'s certificate at good multipliers. They come from the strategy itself (at the
optimum inv(X) G inv(X) is diagonal and holds them) and from uniform ones (the singular value bound of
PODS 2010), improved by the fixed point d <- diag(V S Vᵀ), K = R diag(d)^(1/2) = U S Vᵀ, which raises
the certificate; any d >= 0 gives a valid bound.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mmopt.compiler import bind
from mmopt.language import Program
from mmopt.pipeline.certify import Array, bound_of
from mmopt.queries import Strategy, Workload

__all__ = ["error_bound"]

STEPS = 40
WORK = 4e10  # floating-point operations for the steps; large workloads get fewer


def _value(root: Array, d: Array) -> tuple[float, Array]:
    """The certificate (plainly) and the next multipliers."""
    _, s, vt = np.linalg.svd(root * np.sqrt(d), full_matrices=False)
    return float(s.sum() ** 2 / d.sum()), np.einsum("ki,k,ki->i", vt, s, vt)


def _from_strategy(root: Array, strategy: Strategy) -> Array:
    """diag(inv(X) G inv(X)) with X = AᵀA."""
    inverse = np.linalg.pinv(strategy.matrix)
    return np.asarray(((root @ inverse @ inverse.T) ** 2).sum(axis=0))


def error_bound(workload: Workload, strategy: Strategy, starts: Sequence[Array] = ()) -> tuple[float, Array]:
    """A proved lower bound on the total error of every strategy, and its multipliers (n,).

    ``starts`` may hold multipliers from a solver's dual of ``sensitivity``.
    """
    root = workload.root
    best: tuple[float, Array] = (0.0, np.ones(workload.n))
    for start in (np.ones(workload.n), _from_strategy(root, strategy), *starts):
        d = np.maximum(np.asarray(start, dtype=float), 0.0)
        if not np.isfinite(d).all() or not d.any():
            continue
        value, _ = _value(root, d)
        best = max(best, (value, d), key=lambda pair: pair[0])
    steps = int(min(STEPS, WORK / (20.0 * root.size * min(root.shape))))
    d = best[1]
    for _ in range(steps):
        value, following = _value(root, d)
        if value > best[0]:
            best = (value, d)
        if not following.any() or np.allclose(following / following.sum(), d / d.sum(), rtol=1e-9, atol=0.0):
            break
        d = following
    instance = bind(Program.load("l2_strategy"), workload)
    bound = bound_of(instance, {"sensitivity": best[1]})
    assert bound is not None
    return bound, best[1]
