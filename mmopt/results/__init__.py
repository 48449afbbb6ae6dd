"""Solutions and their certificates: frozen data, printed, saved, loaded."""

from mmopt.results.factored import FactoredSolution, load_saved
from mmopt.results.solution import Solution, gap_between
from mmopt.results.status import Status
from mmopt.results.verification import Check, Figure, Verification

__all__ = [
    "Check",
    "FactoredSolution",
    "Figure",
    "Solution",
    "Status",
    "Verification",
    "gap_between",
    "load_saved",
]
