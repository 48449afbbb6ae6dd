"""What a reader sees: plain data in, rich renderables out. Nothing here computes a result or prints."""

from mmopt.report.answers import answers_table, predicted_table, privacy_rows
from mmopt.report.baselines import baseline_costs, baselines_table
from mmopt.report.chart import write_chart
from mmopt.report.comparison import comparison_report
from mmopt.report.drawing import check_chart
from mmopt.report.explain import Explanation, explain
from mmopt.report.forecasts import cones_table, solvers_table
from mmopt.report.formulas import program_listing
from mmopt.report.history import history_table
from mmopt.report.profile import slack_table
from mmopt.report.programs import givens_table, highlighted, lines_table, programs_table
from mmopt.report.sizes import Sizes, SolverSize, sizes_of
from mmopt.report.solutions import solution_table
from mmopt.report.style import pairs_table, paragraphs
from mmopt.report.takers import takers, takers_table
from mmopt.report.templates import templates_table
from mmopt.report.tuning import subworkloads_table, tuning_table
from mmopt.report.verifications import verification_report
from mmopt.report.workloads import domain_table, queries_table

__all__ = [
    "Explanation",
    "Sizes",
    "SolverSize",
    "answers_table",
    "baseline_costs",
    "baselines_table",
    "check_chart",
    "comparison_report",
    "cones_table",
    "domain_table",
    "explain",
    "givens_table",
    "highlighted",
    "history_table",
    "lines_table",
    "pairs_table",
    "paragraphs",
    "predicted_table",
    "privacy_rows",
    "program_listing",
    "programs_table",
    "queries_table",
    "sizes_of",
    "slack_table",
    "solution_table",
    "solvers_table",
    "subworkloads_table",
    "takers",
    "takers_table",
    "templates_table",
    "tuning_table",
    "verification_report",
    "write_chart",
]
