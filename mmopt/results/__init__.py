"""Solutions and their certificates: frozen data, printed, saved, loaded. No programs, no solvers.

``saved`` is the one way from a result to its file and back.
"""

from mmopt.results.factored import AnySolution, FactoredSolution, load_saved
from mmopt.results.solution import Solution, gap_between
from mmopt.results.status import GRADES, Grade, Status, is_stop
from mmopt.results.verification import Check, Figure, Verification

__all__ = [
    "GRADES",
    "AnySolution",
    "Check",
    "FactoredSolution",
    "Figure",
    "Grade",
    "Solution",
    "Status",
    "Verification",
    "gap_between",
    "is_stop",
    "load_saved",
]
