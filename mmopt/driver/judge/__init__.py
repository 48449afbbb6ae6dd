"""The worth of a point: repair, feasibility, objective, bound, solution. Searches no points, runs no solver
but the kernel that improves a bound.

- ``score_point.py``: the score of a point: repair, feasibility, objective, bound, and its meaning
- ``violations.py``: constraints that a point misses, by how much, and nearby points that keep them
- ``bound_on_total_error.py``: the lower bound next to every strategy's error
- ``charge_for_root.py``: the charge for the rounding of the workload's root
- ``derived_bound.py``: bounds without certificates, from multipliers and slopes of any origin
- ``check_claims.py``: the grades of figures, and the tests of claims: points that contradict them
- ``assemble_solution.py``: a ``Solution`` from a certified point: its strategy, cost and bound
"""
