"""What a point is worth: repair, feasibility, objective, bound, solution. Searches no points, runs no solver
but the kernel that improves a bound.

- ``score_point.py``: a point repaired and evaluated by the program file: objective up, bound down
- ``restored_lines.py``: points nearby at which lines hold that are missed by little
- ``violations.py``: a point as its declarations promise; which lines it misses, and by how much
- ``point_meaning.py``: the strategy or covariance that it stands for, and its error
- ``bound_on_total_error.py``: the lower bound that stands beside every strategy's error
- ``charge_for_root.py``: what the rounding of the workload's root may be worth
- ``derived_bound.py``: a bound read off the program's lines, whatever multipliers there are
- ``bound_claims.py``: what a bound rests on, and whether feasible points contradict it
- ``assemble_solution.py``: a certified point becomes a ``Solution``
- ``adopt_strategy.py``: a strategy from elsewhere as a point of a program
"""
