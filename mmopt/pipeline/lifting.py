"""From a point by components back to the cells."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from mmopt.compiler import Instance
from mmopt.components import Split, lift
from mmopt.language import evaluate
from mmopt.pipeline.audit.adopt import adopt
from mmopt.pipeline.best import Best
from mmopt.pipeline.certify import Array
from mmopt.pipeline.values import dense
from mmopt.queries import Strategy

__all__ = ["lifted", "split_strategy"]


def split_strategy(worked: Instance, best: Best) -> Split:
    """The strategy that the best point by components stands for, by component."""
    meaning = worked.program.meaning
    assert meaning is not None and best.point is not None
    env = best.point.env
    found: Split = evaluate(meaning.expr, env)
    if meaning.kind == "strategy":
        return found
    basis: Split = env[meaning.basis]
    parts = tuple(_whitened(s, b) for s, b in zip(found.parts, basis.parts, strict=True))
    return Split(basis.rows, basis.columns, parts)


def _whitened(covariance: Array, basis: Array) -> Array:
    """Σ^(-1/2) B."""
    values, vectors = scipy.linalg.eigh((covariance + covariance.T) / 2)
    return np.asarray((vectors / np.sqrt(values)) @ vectors.T @ basis)


def lifted(instance: Instance, worked: Instance, best: Best) -> Best:
    """The best point and multipliers of an instance by components, scored against the whole one."""
    assert best.point is not None and worked.program.meaning is not None
    whole = Best(instance)
    values = dense(best.point.variables)
    if instance.program.adoption is not None:
        # The coordinates of a basis differ from those of the components; what is measured does not.
        strategy = Strategy(lift(split_strategy(worked, best)), worked.program.meaning.norm)
        values = adopt(instance, strategy)
    whole.offer(values, dense(best.multipliers or {}))
    return whole
