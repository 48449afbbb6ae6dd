"""Solutions and their certificates: frozen data, printed, saved, loaded. No programs, no solvers.

- ``solution.py``: ``Solution``: a strategy and its certificate; in factors for products
- ``status_grade_and_verification.py``: how a solve ended, what a figure rests on, the outcome of a recheck
- ``saved_fields.py``: dataclasses of results to .npz files and back, values by component among them
- ``solution_rows_and_json.py``: a solution as rows of a table and as JSON
- ``frame.py``: named columns, as libraries of data frames take them, and answers by name
"""

from mmopt.results.frame import Answered, Frame, QueryAnswer
from mmopt.results.saved_fields import Value
from mmopt.results.solution import (
    FOR_TARGETS,
    Solution,
    gap_between,
    kind_of_gap,
    of_factors,
    why_not_released,
)
from mmopt.results.status_grade_and_verification import (
    GRADES,
    Check,
    Figure,
    Grade,
    Status,
    Verification,
    is_stop,
    shown,
    weakest,
)

__all__ = [
    "FOR_TARGETS",
    "GRADES",
    "Answered",
    "Check",
    "Figure",
    "Frame",
    "Grade",
    "QueryAnswer",
    "Solution",
    "Status",
    "Value",
    "Verification",
    "gap_between",
    "is_stop",
    "kind_of_gap",
    "of_factors",
    "shown",
    "weakest",
    "why_not_released",
]
