"""From which size on a workload is solved by component only, and what is refused there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mmopt.compiler import Instance, bind
from mmopt.compiler.match import match
from mmopt.compiler.reductions import by_components, obstacle
from mmopt.driver.threads import one_thread
from mmopt.errors import TooLargeError
from mmopt.language import Checked, Program, check, program_names, shipped
from mmopt.numerics.arrays import MOST_CELLS
from mmopt.solvers import KERNELS, claims, memory_limit
from mmopt.workloads import Workload

__all__ = ["FEW_CELLS", "MOST_CELLS", "bound", "is_large"]

FEW_CELLS = 512
"""A workload over no more cells is always taken to matrices over them."""

SMALL = 0.51
"""Of the cells: components that are no larger are worth a solution by component between the two sizes.

A reflection leaves half, or with an odd number of cells a little more.
"""

ARRAYS = 12  # matrices of the size of the cells that a dense solve holds at a time


def is_large(workload: Workload) -> bool:
    """Whether the workload has more than ``MOST_CELLS`` cells."""
    return workload.n > MOST_CELLS


def bound(
    program: Program | Checked,
    workload: Workload,
    givens: Mapping[str, Any] | None,
    *,
    reduce: bool = True,
    solver: str | None = None,
) -> tuple[Instance, str]:
    """The instance as it is solved, and one line on its components; "" for one over the cells themselves.

    Between ``FEW_CELLS`` and ``MOST_CELLS`` it is by component where those are small and a kernel solves it.
    ``reduce`` False: over the cells, whatever their number. ``solver``: the one that the caller names.

    Raises
    ------
    TooLargeError : a large workload that cannot be solved by component, and does not fit in memory otherwise.
    mmopt.Error : as ``bind``.
    """
    checked, passed = program if isinstance(program, Checked) else check(program), givens or {}
    if not (reduce and is_large(workload)):
        few = not reduce or workload.n <= FEW_CELLS
        small = None if few else _by_small_components(checked, workload, passed, solver)
        return small or (bind(checked, workload, givens), "")
    why = obstacle(checked, passed)
    if not why:
        with one_thread():  # components are found from many small matrices
            found = by_components(checked, workload, passed)
        if found is None:
            why = "no two values of an attribute can be swapped, so the workload does not split"
        elif next(claims(found[0]), None) is None:
            why = "no kernel knows the program, and conic solvers need matrices over the cells"
        else:
            return found
    _refuse_dense(checked.program, workload, why)
    return bind(checked, workload, givens), ""


def _by_small_components(
    checked: Checked, workload: Workload, givens: Mapping[str, Any], solver: str | None
) -> tuple[Instance, str] | None:
    """The instance by component, if a kernel takes it and each component is ``SMALL`` beside the cells."""
    if solver is not None and all(solver.lower() != kernel.name for kernel in KERNELS):
        return None
    with one_thread():
        found = by_components(checked, workload, givens, largest=int(SMALL * workload.n))
    return found if found is not None and next(claims(found[0]), None) is not None else None


def _refuse_dense(program: Program, workload: Workload, why: str) -> None:
    """Refuse what does not fit in memory, with the reason why it is not solved by component."""
    one, limit = 8.0 * float(workload.n) ** 2, memory_limit()
    if ARRAYS * one <= limit:
        return
    raise TooLargeError(
        f"'{program.name}' cannot be solved by component: {why}; over {workload.n:,} cells one matrix alone "
        f"takes {_gigabytes(one)}, and the limit here is {_gigabytes(limit)} for {ARRAYS} of them",
        hint=f"these are: {', '.join(_able())}; or group values of the attributes, so that there are fewer "
        "cells; or try it as it is with reduce=False (--no-reduce)",
    )


def _able() -> list[str]:
    """The shipped programs that are solved by component."""
    known = [shipped(name) for kernel in KERNELS for name in kernel.programs]
    able = [
        c
        for c in map(shipped, program_names())
        if not obstacle(c, {}) and any(match(k, c) is not None for k in known)
    ]
    return [c.program.name for c in able]


def _gigabytes(size: float) -> str:
    gigabytes = size / 2**30
    return f"{gigabytes:,.0f} GiB" if gigabytes < 1e9 else f"{gigabytes:.0e} GiB"
