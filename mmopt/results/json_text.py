"""JSON as this package reads what it saved: every reader makes the same of a text, or it is refused."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

__all__ = ["parsed"]

DEEPEST = 100  # levels; the package writes about ten


def parsed(text: str, read: Callable[[dict[str, Any]], Any] = lambda found: found) -> Any:
    """The value of a JSON text. ``read`` makes a value of each object.

    Raises
    ------
    ValueError : no JSON; a name that an object has twice, of which readers take the first or the last; a
        number that is not finite; more than ``DEEPEST`` levels.
    """

    def of_pairs(pairs: list[tuple[str, Any]]) -> Any:
        if len(found := dict(pairs)) < len(pairs):
            raise ValueError(f"an object has a name twice, of {', '.join(found)}")
        return read(found)

    try:
        value = json.loads(text, object_pairs_hook=of_pairs, parse_float=_finite, parse_constant=_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    level: list[Any] = [[value]]
    for _ in range(DEEPEST + 1):
        inside = (each.values() if isinstance(each, dict) else each for each in level)
        level = [each for some in inside for each in some if isinstance(each, dict | list)]
    if level:
        raise ValueError("it is nested too deeply")
    return value


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError(f"{text} is not a finite number")
    return number
