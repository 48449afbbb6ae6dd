"""The installed conic solvers, each as one function of the kind that ``mmopt.solve(..., solver=)`` takes.

Each is called once, cold, with the tolerance asked for in place of its own for gap and feasibility, and with
nothing else changed. What it returns besides x and y: ``s`` as the solver holds it, and ``seconds``, the wall
time of its own call, without what is done here to bring the problem into its form. Your own solver needs none
of these two.

All other solvers are called by cvxpy, with the tolerance where mmopt knows their name for it.
``cvxpy:clarabel`` is plain cvxpy: the same cone problem written in cvxpy, and ``solve(solver="CLARABEL")``
with all settings at their defaults.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import contextmanager
from types import MappingProxyType
from typing import Any

import numpy as np
import scipy.sparse as sp

from mmopt.solvers import SolverRow, solver_row
from mmopt.solvers.conic_problem import Cones, imported
from mmopt.solvers.conic_solvers import OPTIONS

__all__ = ["CALLED", "MODULES", "PLAIN", "function_of", "matrix_places"]

LINEAR = {"zero", "nonnegative"}
PLAIN = "cvxpy:"  # before the name of a solver: as cvxpy calls it by itself


def clarabel(problem: Any) -> dict[str, Any]:
    """Clarabel: an interior-point method for all cones. Its triangles are the upper ones."""
    import clarabel as package

    order, back = _upper_triangles(problem)
    cones = []
    for block in problem.cones.blocks:
        kind = {
            "zero": package.ZeroConeT,
            "nonnegative": package.NonnegativeConeT,
            "second-order": package.SecondOrderConeT,
            "psd": package.PSDTriangleConeT,
            "exponential": lambda _: package.ExponentialConeT(),
            "power": lambda _, alpha=block.alpha: package.PowerConeT(alpha),
        }[block.kind]
        cones.append(kind(block.size))
    settings = package.DefaultSettings()
    settings.verbose = False
    settings.max_threads = problem.options.threads or 1
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = problem.options.tolerance
    settings.time_limit = min(problem.options.time_limit, 1e9)
    n = len(problem.c)
    a = sp.csc_array(problem.A.tocsr()[order])
    start = time.perf_counter()
    raw = package.DefaultSolver(sp.csc_array((n, n)), problem.c, a, problem.b[order], cones, settings).solve()
    seconds = time.perf_counter() - start
    s, y = np.array(raw.s)[back], np.array(raw.z)[back]
    return _answer(raw.x, y, s, seconds, raw.iterations, str(raw.status))


def scs(problem: Any) -> dict[str, Any]:
    """SCS: a first-order method for all cones, whose form is that of the problem."""
    import scs as package

    cones = problem.cones
    start = time.perf_counter()
    raw = package.SCS(
        {"A": sp.csc_matrix(problem.A), "b": problem.b, "c": problem.c},
        {
            "z": cones.zero,
            "l": cones.nonnegative,
            "q": list(cones.second_order),
            "s": list(cones.psd),
            "ep": cones.exponential,
            "p": list(cones.power),
        },
        verbose=False,
        eps_abs=problem.options.tolerance,
        eps_rel=problem.options.tolerance,
        max_iters=10**7,
        time_limit_secs=min(problem.options.time_limit, 1e9),
    ).solve()
    seconds = time.perf_counter() - start
    return _answer(raw["x"], raw["y"], raw["s"], seconds, raw["info"]["iter"], raw["info"]["status"])


def cvxopt(problem: Any) -> dict[str, Any]:
    """CVXOPT's conelp: an interior-point method without exponential cones; whole matrices, no time limit."""
    from cvxopt import matrix, solvers, spmatrix

    a, b, dims = problem.A.tocsr(), problem.b, problem.cones
    z = dims.zero
    expand = _whole_matrices(dims)
    g, h = sp.coo_array(expand @ a[z:]), expand @ b[z:]
    equal = sp.coo_array(a[:z])

    def sparse(m: Any) -> Any:
        return spmatrix(m.data.tolist(), m.row.tolist(), m.col.tolist(), m.shape)

    tolerance = problem.options.tolerance
    options = {"show_progress": False, "abstol": tolerance, "reltol": tolerance, "feastol": tolerance}
    sizes = {"l": dims.nonnegative, "q": list(dims.second_order), "s": list(dims.psd)}
    start = time.perf_counter()
    raw = solvers.conelp(
        matrix(problem.c),
        sparse(g),
        matrix(h),
        sizes,
        sparse(equal),
        matrix(b[:z]) if z else matrix(0.0, (0, 1)),
        # Its other ways refuse problems with redundant rows.
        kktsolver="ldl",
        options={**options, "maxiters": 200},
    )
    seconds = time.perf_counter() - start
    if raw["x"] is None or raw["z"] is None:  # half of a pair: a ray
        return _ray(raw, dims, len(problem.b), seconds)
    inner, multipliers = (_triangles(dims, np.array(raw[k]).ravel()) for k in ("s", "z"))
    y = np.concatenate([np.array(raw["y"]).ravel(), multipliers])
    s = np.concatenate([np.zeros(z), inner])
    return _answer(np.array(raw["x"]).ravel(), y, s, seconds, raw["iterations"], raw["status"])


def _ray(raw: Any, dims: Any, rows: int, seconds: float) -> dict[str, Any]:
    """CVXOPT's proof that there is no feasible point, or no optimum: y or x alone."""
    if raw["z"] is None:
        x, y, word = np.array(raw["x"]).ravel(), np.zeros(rows), "unbounded"
    else:
        y = np.concatenate([np.array(raw["y"]).ravel(), _triangles(dims, np.array(raw["z"]).ravel())])
        x, word = None, "infeasible"
    return {"x": x, "y": y, "seconds": seconds, "iterations": raw["iterations"], "status": word}


def qoco(problem: Any) -> dict[str, Any]:
    """QOCO: an interior-point method for linear and second-order cones; no time limit."""
    import qoco as package

    a, b, dims = problem.A.tocsr(), problem.b, problem.cones
    z, m = dims.zero, len(problem.b) - dims.zero
    solver = package.QOCO()
    tolerance = problem.options.tolerance
    start = time.perf_counter()
    solver.setup(
        len(problem.c),
        m,
        z,
        None,
        problem.c,
        sp.csc_matrix(a[:z]) if z else None,
        b[:z] if z else None,
        sp.csc_matrix(a[z:]),
        b[z:],
        dims.nonnegative,
        len(dims.second_order),
        np.array(dims.second_order, dtype=np.int32) if dims.second_order else None,
        abstol=tolerance,
        reltol=tolerance,
        verbose=False,
    )
    raw = solver.solve()
    seconds = time.perf_counter() - start
    y = np.concatenate([np.array(raw.y if z else ()), np.array(raw.z)])
    s = np.concatenate([np.zeros(z), np.array(raw.s)])
    return _answer(raw.x, y, s, seconds, raw.iters, str(raw.status))


def sdpa(problem: Any) -> dict[str, Any]:
    """SDPA: an interior-point method for linear and psd cones; whole matrices, no time limit."""
    import sdpap

    dims = problem.cones
    whole = (
        sp.block_diag([sp.eye_array(dims.zero), _whole_matrices(dims)])
        if dims.zero
        else _whole_matrices(dims)
    )
    a, b = sp.csc_matrix(-(whole @ problem.A)), sp.csc_matrix(-(whole @ problem.b)[:, None])
    c = sp.csc_matrix(problem.c[:, None])
    tolerance = problem.options.tolerance
    options = {
        "print": "no",
        "epsilonStar": tolerance,
        "epsilonDash": tolerance,
        "numThreads": problem.options.threads or 1,
    }
    free, inside = (
        sdpap.SymCone(f=len(problem.c)),
        sdpap.SymCone(f=dims.zero, l=dims.nonnegative, s=tuple(dims.psd)),
    )
    with _no_output():
        start = time.perf_counter()
        x, y, found, seconds, _ = sdpap.solve(a, b, c, free, inside, options)
        own = time.perf_counter() - start if "sdpa" not in seconds else seconds["sdpa"]
    y = y.toarray().ravel()
    y = np.concatenate([y[: dims.zero], _triangles(dims, y[dims.zero :])])
    return _answer(x.toarray().ravel(), y, None, own, found.get("iteration", 0), found["phasevalue"])


cvxopt.cones = LINEAR | {"second-order", "psd"}  # type: ignore[attr-defined]
qoco.cones = LINEAR | {"second-order"}  # type: ignore[attr-defined]
sdpa.cones = LINEAR | {"psd"}  # type: ignore[attr-defined]

CALLED: Mapping[str, Callable[[Any], Any]] = MappingProxyType(
    {each.__name__: each for each in (clarabel, scs, cvxopt, qoco, sdpa)}
)
MODULES: Mapping[str, str] = MappingProxyType({**{name: name for name in CALLED}, "sdpa": "sdpap"})


def function_of(name: str) -> Callable[[Any], Any]:
    """The function of a name: in ``CALLED``, ``cvxpy:NAME``, of a solver of cvxpy, or ``module:function``.

    Raises
    ------
    OptionError : cvxpy has no such solver, or there is no such function. SolverError : it is not installed.
    """
    if name in CALLED:
        return CALLED[name]
    if ":" in name and not name.startswith(PLAIN):
        return imported(name)
    row = solver_row(name.removeprefix(PLAIN))
    is_plain = name.startswith(PLAIN)

    def by_cvxpy(problem: Any) -> dict[str, Any]:
        return _by_cvxpy(row, problem, is_plain)

    by_cvxpy.__module__ = "cvxpy" if is_plain else __name__
    by_cvxpy.__qualname__ = row.name
    by_cvxpy.cones = set(row.cones)  # type: ignore[attr-defined]
    return by_cvxpy


def _by_cvxpy(row: SolverRow, problem: Any, is_plain: bool) -> dict[str, Any]:
    """The problem written in cvxpy, block by block, and its ``solve``."""
    import cvxpy

    cp: Any = cvxpy  # its names are not all typed
    x = cp.Variable(len(problem.c))
    a, lines, blocks = problem.A.tocsr(), [], problem.cones.blocks
    for block in blocks:
        rows = slice(block.first, block.end)
        s = problem.b[rows] - a[rows] @ x
        lines.append(_line(cp, s, block))
    written = cp.Problem(cp.Minimize(problem.c @ x), lines)
    names = None if is_plain else OPTIONS.get(row.cvxpy)
    settings = {} if names is None else names.settings(problem.options.tolerance, problem.options)
    with _no_output(), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "may be inaccurate": that is judged
        written.solve(solver=row.cvxpy, **settings)
    if x.value is None and all(line.dual_value is None for line in lines):
        if written.status not in ("infeasible", "unbounded"):
            raise ArithmeticError(f"cvxpy has no point: {written.status}")
        y = np.zeros(len(problem.b))
    else:
        y = np.concatenate(
            [_multipliers(line.dual_value, block) for line, block in zip(lines, blocks, strict=True)]
        )
    stats = written.solver_stats
    count = getattr(stats, "num_iters", None)
    return {
        "x": x.value,
        "y": y,
        "seconds": getattr(stats, "solve_time", None),
        "iterations": count if isinstance(count, int) else None,
        "status": written.status,
    }


def _line(cp: Any, s: Any, block: Any) -> Any:
    """The constraint that s is in the cone of a block."""
    match block.kind:
        case "zero":
            return s == 0
        case "nonnegative":
            return s >= 0
        case "second-order":
            return cp.SOC(s[0], s[1:])
        case "psd":
            whole = _whole_matrices(Cones(psd=(block.size,)))
            return cp.reshape(whole @ s, (block.size, block.size), order="F") >> 0
        case "exponential":
            return cp.ExpCone(s[0], s[1], s[2])
    return cp.PowCone3D(s[0], s[1], s[2], block.alpha)


def _multipliers(dual: Any, block: Any) -> Any:
    """The rows of a block of y from cvxpy's multipliers of its line; zeros where it has none."""
    if block.kind == "psd":
        whole = np.zeros((block.size, block.size)) if dual is None else np.asarray(dual)
        return _triangles(Cones(psd=(block.size,)), whole.ravel(order="F"))
    if dual is None:
        return np.zeros(block.end - block.first)
    parts = dual if isinstance(dual, list) else [dual]
    sign = -1.0 if block.kind == "zero" else 1.0
    return sign * np.concatenate([np.ravel(part) for part in parts])


def matrix_places(side: int) -> list[tuple[int, int]]:
    """The (row, column) of each entry of the lower triangle, column by column."""
    return [(i, j) for j in range(side) for i in range(j, side)]


def _answer(x: Any, y: Any, s: Any, seconds: float, iterations: int, status: str) -> dict[str, Any]:
    parts = {"x": np.asarray(x, dtype=float), "y": np.asarray(y, dtype=float)}
    words = {"seconds": seconds, "iterations": int(iterations), "status": f"{status}"}
    return {**parts, **words, **({} if s is None else {"s": np.asarray(s, dtype=float)})}


def _upper_triangles(problem: Any) -> tuple[Any, Any]:
    """Which row stands where with upper triangles column by column, and the way back."""
    order = np.arange(len(problem.b))
    for block in problem.cones.blocks:
        if block.kind == "psd":
            place = {entry: number for number, entry in enumerate(matrix_places(block.size))}
            upper = [place[j, i] for j in range(block.size) for i in range(j + 1)]
            order[block.first : block.end] = block.first + np.array(upper)
    return order, np.argsort(order)


def _whole_matrices(dims: Any) -> Any:
    """The map from our rows after the equations to rows with whole matrices, column by column."""
    parts: list[Any] = [sp.eye_array(dims.nonnegative + sum(dims.second_order))]
    for side in dims.psd:
        rows, columns, values = [], [], []
        for number, (i, j) in enumerate(matrix_places(side)):
            for at in {i + j * side, j + i * side}:
                rows.append(at)
                columns.append(number)
                values.append(1.0 if i == j else np.sqrt(0.5))
        shape = (side * side, side * (side + 1) // 2)
        parts.append(sp.coo_array((values, (rows, columns)), shape=shape))
    return sp.csr_array(sp.block_diag(parts))


def _triangles(dims: Any, whole: Any) -> Any:
    """The way back, for points and multipliers: the lower triangles, which hold in both storages."""
    at = dims.nonnegative + sum(dims.second_order)
    parts = [whole[:at]]
    for side in dims.psd:
        matrix = whole[at : at + side * side].reshape(side, side, order="F")
        parts.append(
            np.array([matrix[i, j] * (1.0 if i == j else np.sqrt(2.0)) for i, j in matrix_places(side)])
        )
        at += side * side
    return np.concatenate(parts)


@contextmanager
def _no_output() -> Any:
    """SDPA prints remarks on standard output, whatever it is told."""
    kept, nowhere = os.dup(1), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)
        os.close(nowhere)
