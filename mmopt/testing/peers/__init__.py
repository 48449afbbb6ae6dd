"""Workloads of the field with what other software reaches on them, to be solved here beside it."""

from mmopt.testing.peers.rows import FIGURES, ROWS, Row, rows_named
from mmopt.testing.peers.run import Reached, computed, reach

__all__ = ["FIGURES", "ROWS", "Reached", "Row", "computed", "reach", "rows_named"]
