"""Points by component, scored against the whole instance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mmopt.compiler import Instance
from mmopt.driver.judge.adopt import adopt
from mmopt.driver.judge.score import Candidate, declared
from mmopt.driver.judge.split_meaning import split_meaning
from mmopt.driver.judge.violations import dense, plain
from mmopt.driver.running import Best
from mmopt.numerics.components import lift
from mmopt.strategies import Strategy

__all__ = ["Lifted"]


@dataclass(kw_only=True)
class Lifted(Best):
    """The best of an instance whose solver works by component: a point is lifted, then repaired and scored.

    ``worked`` is the instance by component. Nothing is scored there, where it would have to be done again.
    """

    worked: Instance = field(repr=False)

    def offer(
        self, values: Mapping[str, Any], multipliers: Mapping[str, Any], polar: Any = None
    ) -> Candidate | None:
        return super().offer(self._over_cells(values), dense(multipliers))

    def _over_cells(self, values: Mapping[str, Any]) -> dict[str, Any]:
        program = self.worked.program
        if self.instance.program.adoption is None:
            return dense(values)
        # The coordinates of a basis differ from those of the components; what is measured does not.
        env = {**self.worked.env, **plain(declared(self.worked, values))}
        measured, _, _ = split_meaning(program, env)
        return adopt(self.instance, Strategy(lift(measured), program.meaning.norm))
