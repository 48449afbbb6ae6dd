"""From a point by components back to the cells."""

from __future__ import annotations

from mmopt.compiler import Instance
from mmopt.components import lift
from mmopt.pipeline.audit.adopt import adopt
from mmopt.pipeline.best import Best
from mmopt.pipeline.split_meaning import split_meaning
from mmopt.pipeline.values import dense
from mmopt.queries import Strategy

__all__ = ["lifted"]


def lifted(instance: Instance, worked: Instance, best: Best) -> Best:
    """The best point and multipliers of an instance by components, scored against the whole one."""
    assert best.point is not None and worked.program.meaning is not None
    whole = Best(instance)
    values = dense(best.point.variables)
    if instance.program.adoption is not None:
        # The coordinates of a basis differ from those of the components; what is measured does not.
        measured, _, _ = split_meaning(worked.program, best.point.env)
        values = adopt(instance, Strategy(lift(measured), worked.program.meaning.norm))
    whole.offer(values, dense(best.multipliers or {}))
    return whole
