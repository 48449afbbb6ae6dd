"""What has been evaluated, for expressions that stand in several places of a program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mmopt.language.syntax.tree import Expr, names_in

__all__ = ["Memo"]


class Memo:
    """Values by expression and by what its names stood for: those very objects, not equal ones.

    The repair of ``fitness_for_use``, say, and its line ``privacy`` both need the costs of all cells. The
    objects are held, so that no other one can take their place in memory; arrays must not be written to
    between two evaluations with the same memo.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[Expr, tuple[int, ...]], tuple[Any, tuple[Any, ...]]] = {}

    def value(self, expr: Expr, env: Mapping[str, Any], compute: Callable[[], Any]) -> Any:
        """The value known for the expression, or else the one computed now."""
        held = tuple(env[name] for name in sorted(names_in(expr)))
        key = expr, tuple(map(id, held))
        if key not in self._known:
            self._known[key] = compute(), held
        return self._known[key][0]
