"""Solutions and their certificates: frozen data, printed, saved, loaded."""

from mmopt.results.solution import Solution, gap_between
from mmopt.results.status import Status

__all__ = ["Solution", "Status", "gap_between"]
