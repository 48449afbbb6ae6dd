"""A strategy from which a search starts: as a point of the program, as its 'from strategy' says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.driver.judge.adopt import check_adopts
from mmopt.driver.judge.incoming import incoming, norm_of, opened
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.strategies import Strategy
from mmopt.workloads import Workload

__all__ = ["starting"]

SEARCHED = ("rank", "smooth")


def starting(
    start: Any, program: Program, workload: Workload, overrides: Mapping[str, Any]
) -> Strategy | None:
    """The strategy that ``solve(start=...)`` names; None for None.

    Raises
    ------
    OptionError : a program that is not searched, or has no 'from strategy'; ``starts`` besides; a strategy
        of another norm or number of cells, or that does not support the workload.
    """
    if start is None:
        return None
    if program.klass not in SEARCHED:
        hint = f"it belongs to class {' and '.join(SEARCHED)}"
        if program.givens:
            hint += "; a baseline can also be a given (--given NAME=haar)"
        raise OptionError(
            f"'{program.name}' is of class '{program.klass}', which has no option 'start'", hint=hint
        )
    if "starts" in overrides:
        raise OptionError("'starts' has no effect with 'start': the search starts from there alone")
    norm = program.meaning.norm
    given = opened(start, workload, norm)
    check_adopts(program, norm_of(given))
    return incoming(workload, given, None, None, norm)
