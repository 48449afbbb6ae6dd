"""How many threads the linear algebra takes: one where every matrix is small."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from threadpoolctl import threadpool_info, threadpool_limits

__all__ = ["blas_threads", "one_thread"]

# Threads for smaller matrices cost more than they give: on a busy machine each product waits for them.
COLUMNS_OF_ONE_THREAD = 512


def blas_threads(largest: int, asked: int | None = None) -> AbstractContextManager[Any]:
    """As many threads as asked for; one where even the largest matrix is small; else what the library takes.

    ``largest``: the number of its columns.
    """
    if asked is None and largest < COLUMNS_OF_ONE_THREAD:
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
