"""What a reader sees: results and forecasts in; tables, texts and charts out. Nothing here solves or prints.

- ``style.py``: how numbers and tables look
- ``programs.py``: the list of programs, their text, givens and solvers
- ``workloads.py``: what a workload file asks
- ``sizes.py``: what a solve will take
- ``solutions.py``: what was solved, tuned, verified
- ``comparison.py``: programs side by side
- ``baselines.py``: baselines, and their factors to programs
- ``releases.py``: a release: planned, answered, simulated
- ``chart.py``: charts
- ``explain/``: a program explained
"""

from mmopt.report.baselines import baseline_costs, baselines_table
from mmopt.report.chart import check_chart, write_chart
from mmopt.report.comparison import comparison_report
from mmopt.report.explain import Explanation, explain
from mmopt.report.programs import (
    givens_table,
    highlighted,
    lines_table,
    program_listing,
    programs_table,
    takers,
    takers_table,
)
from mmopt.report.releases import NOT_PRIVATE, answers_table, predicted_table, privacy_rows, simulated_table
from mmopt.report.sizes import Sizes, SolverSize, cones_table, sizes_of, sizes_tables, solvers_table
from mmopt.report.solutions import (
    history_table,
    slack_table,
    subworkloads_table,
    templates_table,
    tuning_table,
    verification_report,
)
from mmopt.report.style import pairs_table, paragraphs
from mmopt.report.workloads import NORMALISED, domain_table, queries_table

__all__ = [
    "NORMALISED",
    "NOT_PRIVATE",
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
    "simulated_table",
    "sizes_of",
    "sizes_tables",
    "slack_table",
    "solvers_table",
    "subworkloads_table",
    "takers",
    "takers_table",
    "templates_table",
    "tuning_table",
    "verification_report",
    "write_chart",
]
