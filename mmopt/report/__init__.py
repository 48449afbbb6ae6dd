"""What a reader sees: plain data in, rich renderables out. Nothing here computes a result or prints."""

from mmopt.report.answers import answers_table, predicted_table, privacy_rows
from mmopt.report.comparison import comparison_report
from mmopt.report.forecasts import cones_table, solvers_table
from mmopt.report.history import history_table
from mmopt.report.programs import givens_table, highlighted, lines_table, programs_table
from mmopt.report.sizes import Sizes, SolverSize, sizes_of
from mmopt.report.solutions import solution_table
from mmopt.report.style import pairs_table, paragraphs
from mmopt.report.workloads import domain_table, queries_table

__all__ = [
    "Sizes",
    "SolverSize",
    "answers_table",
    "comparison_report",
    "cones_table",
    "domain_table",
    "givens_table",
    "highlighted",
    "history_table",
    "lines_table",
    "pairs_table",
    "paragraphs",
    "predicted_table",
    "privacy_rows",
    "programs_table",
    "queries_table",
    "sizes_of",
    "solution_table",
    "solvers_table",
]
