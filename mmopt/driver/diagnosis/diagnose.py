"""Why a solve gave no point, in the names of the program, with what to change.

A solver's word only says where to look. That there is no feasible point is proved by multipliers
(``conflict``), that the objective has no end is shown on the program itself (``growth``); what was not
shown is worded as not found.
"""

from __future__ import annotations

from mmopt.compiler import Instance, Scaling
from mmopt.driver.diagnosis import advice_on_conflicts
from mmopt.driver.diagnosis.conflicts_and_growth import find_conflict, find_growth
from mmopt.driver.diagnosis.elastic_form import Probe, everything, probe
from mmopt.driver.diagnosis.relaxable_lines import Ground, ground
from mmopt.driver.diagnosis.unattained import has_end
from mmopt.driver.judge.score_point import FEASIBLE, Candidate, candidate, may_move
from mmopt.driver.judge.violations import worst_line
from mmopt.errors import ProgramError, SolverError
from mmopt.solvers import Clock, Point
from mmopt.stop_reasons import Stop

__all__ = ["explain_failure"]

SECONDS_OF_DIAGNOSIS = 20.0  # for a diagnosis
SECONDS_IN_A_HURRY = 3.0  # for one when a limit of time or iterations was set and reached


def explain_failure(
    instance: Instance,
    handed: tuple[Instance, Scaling] | None,
    solver: str,
    last: Point,
    point: Candidate | None,
) -> SolverError:
    """The error for a solve without a feasible point.

    Parameters
    ----------
    handed : the scaled instance that was handed over, and the way back; None for a kernel.
    last : the solver's last point. point : the best repaired point, if there was any.
    """
    if handed is None:
        return _missed(instance, solver, last, point)
    name, (scaled, scaling) = instance.program.name, handed
    try:
        lines = ground(scaled)
    except ProgramError:  # taken apart line by line it does not check: what the solver says is all there is
        lines = None
    nearest: Probe | None = None
    if lines is not None:
        with Clock(
            SECONDS_IN_A_HURRY if last.stop in (Stop.STOPPED, Stop.ITERATIONS) else SECONDS_OF_DIAGNOSIS
        ) as clock:
            found = _shown(instance, lines, scaling, last, clock)
            if found is None and last.stop == Stop.INFEASIBLE:
                nearest = probe(lines, everything(lines), clock)
        if found is not None:
            return found
    if last.stop == Stop.INFEASIBLE:
        return _doubted(instance, scaling, solver, last, nearest)
    if last.stop == Stop.UNBOUNDED:
        return advice_on_conflicts.unbounded_by_word(name, solver, last.raw)
    return _missed(instance, solver, last, point)


def _shown(
    instance: Instance, lines: Ground, scaling: Scaling, last: Point, clock: Clock
) -> SolverError | None:
    """What can be shown without believing the solver."""
    if last.stop == Stop.UNBOUNDED:
        growth = find_growth(lines, instance, scaling, clock)
        if growth is not None and not has_end(instance, growth.directions):
            return advice_on_conflicts.unbounded(instance, growth)
    conflict = find_conflict(lines, scaling, clock)
    if conflict is None:
        return None
    return advice_on_conflicts.infeasible(instance, lines, conflict, scaling.smallest_unit)


def _doubted(
    instance: Instance, scaling: Scaling, solver: str, last: Point, nearest: Probe | None
) -> SolverError:
    """The solver says infeasible, and the elastic program does not prove it."""
    if nearest is not None:
        found = candidate(instance, scaling.undone(nearest.point, {})[0])
        if found.after <= FEASIBLE:
            return advice_on_conflicts.feasible_all_the_same(instance, solver, last.raw, found)
    slack = max(nearest.slack.values(), default=0.0) if nearest is not None else None
    return advice_on_conflicts.undecided(instance.program.name, solver, last.raw, slack)


def _missed(instance: Instance, solver: str, last: Point, point: Candidate | None) -> SolverError:
    """The error for a solver that has points, of which none can be repaired to a feasible one."""
    program = instance.program
    if point is None:
        unused = [d.name for d in program.choose if last.variables and d.name not in last.variables]
        if unused:
            return advice_on_conflicts.unused(instance, unused[0])
        return advice_on_conflicts.no_point(program.name, solver, last.raw)
    if point.after <= FEASIBLE:
        return advice_on_conflicts.infinite_objective(instance, solver, last.raw)
    line = worst_line(instance, {d.name: point.env[d.name] for d in program.choose})
    if line is None:
        return advice_on_conflicts.no_point(program.name, solver, last.raw)
    is_moved = may_move(instance) and not program.repair and last.stop != Stop.STOPPED
    return advice_on_conflicts.missed(instance, solver, last.raw, line, is_moved)
