"""``mmopt.certify``: repair, charge and bound a strategy that came from anywhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from mmopt.compiler import bind
from mmopt.driver.convex import Report, with_total
from mmopt.driver.givens import named_givens, require_workload, within_range
from mmopt.driver.judge.adopt import (
    SAME,
    adopt,
    adopters,
    changes,
    check_adopts,
    check_feasible,
    kept,
    row_parameter,
)
from mmopt.driver.judge.assemble import assemble
from mmopt.driver.judge.incoming import incoming, norm_of, opened
from mmopt.driver.judge.score import candidate, scored
from mmopt.driver.solve import default_program
from mmopt.errors import OptionError
from mmopt.language import Program
from mmopt.limits import deadline
from mmopt.proof.multipliers import Prover
from mmopt.results import Solution, Status
from mmopt.solvers import Options
from mmopt.strategies import normalise
from mmopt.workloads import Workload

__all__ = ["CERTIFIED", "certify", "program_for"]

CERTIFIED = "certified"
# Below this gap no solver is asked for better multipliers, unless the caller says otherwise.
TOLERANCE = 1e-6


def program_for(workload: Workload, norm: int | None = None) -> tuple[str, str]:
    """The program by which a strategy is certified when none is named, and why.

    Raises
    ------
    OptionError : no shipped program takes strategies of this norm.
    """
    if norm in (None, 2):
        return default_program(workload)
    able = adopters(norm)
    if not able:
        raise OptionError(
            f"no shipped program takes strategies of norm {norm}",
            hint="name one of your own: its strategy has this norm, and it has a section 'from strategy'",
        )
    return able[0], f"the strategy has norm {norm}"


@within_range()
def certify(
    workload: Workload,
    strategy: Any = None,
    program: str | Path | Program | None = None,
    *,
    covariance: Any = None,
    basis: Any = None,
    norm: int | None = None,
    multipliers: Mapping[str, Any] | None = None,
    givens: Mapping[str, Any] | None = None,
    solve: bool = True,
    solver: str | None = None,
    tolerance: float | None = None,
    time_limit: float | None = None,
    progress: Report | None = None,
) -> Solution:
    """Certify a strategy that came from anywhere: what it costs, and how far it is from the best.

    The strategy becomes a point of the program as its section ``from strategy`` says. The point is
    evaluated as it is, scaled to sensitivity 1, or with the noise scaled to its targets. Where the program's
    repair would make a better one of it (short columns are completed) a warning says so; where only a
    repaired point is feasible, it says what was changed.

    The bound is the best of: the certificate at the caller's ``multipliers``, at those that the program takes
    from the point, at those that follow from the strategy (PODS 2010: the singular value bound, improved),
    and, while the gap is above ``tolerance``, at those of a solve of the program if it is convex. A program
    with ``bound l2_strategy`` is bounded by that program's certificate: for ε-differential privacy, because
    ‖A‖₁ >= ‖A‖₂.

    Parameters
    ----------
    workload : the queries.
    strategy : A (p, n) as a Strategy, an array or scipy sparse matrix, a Solution (its strategy), a path
        (.npy, .csv, or .npz of a saved solution), or a baseline: "haar". Any scale that doubles hold.
    program : as for ``solve``; it must have a section ``from strategy``. For norm 1 the first shipped program
        of that norm.
    covariance : Σ (k, k), positive definite, in place of a strategy: of the noise on ``basis`` @ x.
    basis : B (k, n) of the covariance; by default the workload's basis.
    norm : 1 or 2; by default that of the Strategy or Solution, else of the program.
    multipliers : by the names of the certificate's constraints, as in ``Solution.multipliers``.
    givens : as for ``solve``.
    solve : whether a solver may be asked for better multipliers.
    solver, tolerance, time_limit, progress : of that solve, as for ``solve``; by default it is left out when
        the gap is at most 1e-6 without it.

    Returns
    -------
    Solution with solver "given" and status "certified". Its strategy is the one given, scaled, unless the
    repair changed more than the scale.

    Raises
    ------
    OptionError : a strategy that is no matrix of numbers, of another number of cells, of another norm than
        the program's, or that does not support the workload (W A⁺A differs from W; the worst query is
        named); a program without ``from strategy``; unknown or ill-shaped multipliers or givens.
    SolverError, TooLargeError : from a solver that the caller named.
    """
    require_workload(workload)
    started = time.monotonic()
    options = {"tolerance": tolerance, "time_limit": time_limit}
    overrides: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    Options(**overrides)  # a bad option is refused before any work
    given = opened(strategy, workload, norm)
    brought = norm_of(given)
    if norm is not None and brought not in (None, norm):
        raise OptionError(
            f"the strategy has norm {brought}, and norm {norm} is asked for", hint="pass its matrix alone"
        )
    norm = brought if norm is None else norm
    if program is None:
        program = program_for(workload, norm)[0]
    parsed = program if isinstance(program, Program) else Program.load(program)
    check_adopts(parsed, norm)
    came = incoming(workload, given, covariance, basis, parsed.meaning.norm)
    named = named_givens(givens, parsed, workload)
    instance = bind(parsed, workload, {**row_parameter(parsed, came), **named})
    is_strategy = parsed.meaning.kind == "strategy"
    values = adopt(instance, normalise(came) if is_strategy else came)
    try:
        point = repaired = candidate(instance, values)
        if is_strategy and (as_given := scored(instance, values)).is_feasible:
            point = as_given
    except np.linalg.LinAlgError:
        message = f"the strategy gives no point of '{parsed.name}' that can be repaired"
        raise OptionError(message, hint="is it very badly scaled?") from None
    check_feasible(instance, point)
    prover = Prover(instance, point, came)
    evaluated = time.monotonic()
    limit = TOLERANCE if tolerance is None else tolerance
    with deadline(time_limit):
        proof = prover.best(multipliers or {}, limit, solve, solver, overrides, progress)
    bounded = time.monotonic()
    own = prover.judge is instance
    multipliers = proof.multipliers if own else {}
    same = kept(came, instance, point.env, multipliers)
    remarks = changes(instance, came, values, point, None if same is None else same[1])
    if repaired.objective < point.objective * (1.0 - SAME):
        remarks.append(f"completed by the program's repair its objective would be {repaired.objective:.10g}")
    if proof.bound is not None:
        remarks.append(f"the bound's multipliers come from {proof.origin}")
    solution = assemble(
        instance,
        point.env,
        objective=point.objective,
        proved=point.proved,
        raw=values,
        bound=proof.bound if own else None,
        status=Status(CERTIFIED, True, point.before, proof.bound is not None, CERTIFIED),
        solver=("given", ""),
        options=overrides,
        iterations=0,
        seconds={"compile": evaluated - started, "solve": bounded - evaluated, "total": 0.0},
        multipliers=multipliers,
        scaling={},
        warnings=(*remarks, *proof.remarks),
        measured=None if same is None else same[0],
        starts=() if own else tuple(proof.multipliers.values()),
    )
    return with_total(solution, time.monotonic() - started)
