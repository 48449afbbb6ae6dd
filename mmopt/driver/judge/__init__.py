"""The worth of a point: repair, feasibility, objective, bound, solution. Searches no points, runs no solver
but the kernel that improves a bound.

- ``score_and_meaning.py``: the score of a point: repair, feasibility, objective, bound; and the strategy that
  it means, with its error; tests of an author's certificate, by feasible points that refute it
- ``charge_rounded_queries.py``: the rounding of what a program takes from the workload, charged to figures
- ``total_error_bound.py``: the lower bound next to the error of every strategy
- ``violations_and_nearby_points.py``: constraints that a point misses, by how much, and nearby points that
  keep them
- ``derived_bound.py``: a bound derived from the lines of a program, at multipliers and slopes of any origin
- ``assemble_solution.py``: a ``Solution`` from a certified point: its strategy, its figures and their grades;
  figures that contradict each other are refused; a strategy from anywhere made a point of a program
"""

from mmopt.driver.judge.assemble_solution import (
    Ending,
    Stage,
    adopt,
    adopting_programs,
    assemble_solution,
    assigned_values,
    check_adopts,
    check_figures,
    combine_factors,
    grade_of,
    objective_grade,
    row_parameter,
    start_strategy,
    understates_error,
    value_of,
)
from mmopt.driver.judge.charge_rounded_queries import balls_of_names, charged_objective
from mmopt.driver.judge.derived_bound import (
    Derived,
    LineBounds,
    level_above,
    line_bounds,
    recomputed,
    shown_terms,
)
from mmopt.driver.judge.score_and_meaning import (
    FEASIBLE,
    SLIGHT,
    Candidate,
    bound_of,
    candidate,
    charged,
    charged_error,
    draw_value,
    gap_of,
    improves,
    may_move,
    meaning,
    named_multipliers,
    own_sensitivity,
    refuted,
    rounding_of_error,
    scored,
    starts_from,
    try_to_refute,
    upper_value,
)
from mmopt.driver.judge.total_error_bound import error_bound, for_neighbours, l2_by_component, l2_of_few
from mmopt.driver.judge.violations_and_nearby_points import asymmetric, undefined_part, violations, worst_line

__all__ = [
    "FEASIBLE",
    "SLIGHT",
    "Candidate",
    "Derived",
    "Ending",
    "LineBounds",
    "Stage",
    "adopt",
    "adopting_programs",
    "assemble_solution",
    "assigned_values",
    "asymmetric",
    "balls_of_names",
    "bound_of",
    "candidate",
    "charged",
    "charged_error",
    "charged_objective",
    "check_adopts",
    "check_figures",
    "combine_factors",
    "draw_value",
    "error_bound",
    "for_neighbours",
    "gap_of",
    "grade_of",
    "improves",
    "l2_by_component",
    "l2_of_few",
    "level_above",
    "line_bounds",
    "may_move",
    "meaning",
    "named_multipliers",
    "objective_grade",
    "own_sensitivity",
    "recomputed",
    "refuted",
    "rounding_of_error",
    "row_parameter",
    "scored",
    "shown_terms",
    "start_strategy",
    "starts_from",
    "try_to_refute",
    "undefined_part",
    "understates_error",
    "upper_value",
    "value_of",
    "violations",
    "worst_line",
]
