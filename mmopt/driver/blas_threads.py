"""How many threads the linear algebra takes while a task is solved: one where every matrix is small."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

from mmopt.compiler import Instance
from mmopt.numerics.split_arrays import Split

__all__ = ["blas_threads", "one_thread"]

# Threads for smaller matrices cost more than they give: on a busy machine each product waits for them.
CELLS_OF_ONE_THREAD = 512


def blas_threads(work: Instance | int, asked: int | None = None) -> AbstractContextManager[Any]:
    """As many threads as asked for; one where every matrix is small; else what the library takes.

    ``work``: an instance, or the number of cells of one that is still to be made.
    """
    if isinstance(work, int):
        largest = work
    else:
        split = [v.columns.largest for v in work.env.values() if isinstance(v, Split)]
        largest = max(split, default=work.workload.n)
    if asked is None and largest < CELLS_OF_ONE_THREAD:
        return one_thread()
    return nullcontext() if asked is None else _limited(asked)


def one_thread() -> AbstractContextManager[Any]:
    """One thread for the linear algebra."""
    return _limited(1)


def _limited(threads: int) -> AbstractContextManager[Any]:
    running = [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    if max(running, default=0) == threads:  # setting it again takes memory, which may be limited
        return nullcontext()
    limits: AbstractContextManager[Any] = threadpool_limits(threads, user_api="blas")
    return limits
