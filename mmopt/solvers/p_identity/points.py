"""Points of the shipped program, by the kernel."""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping
from typing import Any

import numpy as np

from mmopt.solvers.options import Clock, Options, Point
from mmopt.solvers.p_identity.search import State, search

__all__ = ["PROGRAMS", "points"]


PROGRAMS = ("p_identity",)


def points(
    program: str, env: Mapping[str, Any], options: Options, clock: Clock
) -> Generator[Point, None, None]:
    """Estimates while the search goes on, then its best point.

    Parameters
    ----------
    program : one of ``PROGRAMS``.
    env : its givens by name, and the dimension p.
    options : ``starts``, ``seed`` and ``max_iterations`` (of all starts together) count.
    clock : looked at after every step.
    """
    root, most = np.asarray(env["W"], dtype=float), int(env["p"])
    gram = root.T @ root
    states = search(
        gram,
        most,
        queries=root,
        count=options.starts,
        seed=options.seed or 0,
        limit=options.max_iterations or math.inf,
        over=lambda: clock.is_over,
    )
    for state in states:
        if not state.stop:
            yield Point({}, {}, state.iterations, "", False, estimate=(state.value, None))
            continue
        theta = np.zeros((most, root.shape[1]))
        theta[: len(state.rows)] = state.rows
        stop = summary(state) if state.stop == "solved" else state.stop
        raw = f"{np.count_nonzero(theta.any(axis=1))} rows below the identity"
        yield Point({"Theta": theta}, {}, state.iterations, raw, True, stop)


def summary(state: State) -> str:
    """``local optimum, 18 starts, 6 followed, spread 1.2e-03``: of the worst of these over the best."""
    followed = len(state.values)
    text = f"local optimum, {state.count} start{'s' * (state.count != 1)}"
    if followed < 2:
        return text
    return f"{text}, {followed} followed, spread {max(state.values) / max(state.value, 1e-300) - 1.0:.1e}"
