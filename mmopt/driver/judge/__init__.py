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
