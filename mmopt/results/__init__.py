"""Solutions and their certificates: frozen data, printed, saved, loaded. No programs, no solvers.

- ``solution.py``: ``Solution``: the solution of a program
- ``factored_solution.py``: a strategy kept in factors, as it is saved
- ``solve_status.py``: how a solve ended, and what its figures rest on
- ``rows_and_json.py``: a solution as rows of a table and as JSON
- ``verification.py``: what a recheck found
- ``saved_fields.py``: the one way from a result to its file and back
- ``component_storage.py``: values by component as plain arrays, and back
- ``npz_file.py``: the file itself
- ``json_text.py``: JSON, of which every reader makes the same
- ``whole_file.py``: a file that is written whole or not at all
- ``frame.py``: named columns, as libraries of data frames take them
"""

from mmopt.results.factored_solution import AnySolution, FactoredSolution, load_saved
from mmopt.results.frame import Frame
from mmopt.results.solution import Solution, gap_between, kind_of_gap, of_factors, why_not_released
from mmopt.results.solve_status import GRADES, Grade, Status, is_stop
from mmopt.results.verification import Check, Figure, Verification

__all__ = [
    "GRADES",
    "AnySolution",
    "Check",
    "FactoredSolution",
    "Figure",
    "Frame",
    "Grade",
    "Solution",
    "Status",
    "Verification",
    "gap_between",
    "is_stop",
    "kind_of_gap",
    "load_saved",
    "of_factors",
    "why_not_released",
]
