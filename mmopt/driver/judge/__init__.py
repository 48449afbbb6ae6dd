"""The worth of a point: repair, feasibility, objective, bound, solution. Searches no points, runs no solver
but the kernel that improves a bound.

- ``score_point.py``: the score of a point: repair, feasibility, objective, bound, and its meaning;
  with the charge for the rounding of the workload's root
- ``violations.py``: constraints that a point misses, by how much, and nearby points that keep them
- ``proved_bounds.py``: bounds derived from lines, at multipliers and slopes of any origin; and the lower
  bound next to every strategy's error
- ``check_claims.py``: the grades of figures, and the tests of claims: points that contradict them
- ``adopt_strategy.py``: a strategy from anywhere made a point of a program
- ``assemble_solution.py``: a ``Solution`` from a certified point: its strategy, cost and bound
"""
