"""What a reader sees: results and forecasts in; tables, texts and charts out. Nothing here solves or prints.

- ``table_style.py``: how numbers and tables look
- ``program_tables.py``: the list of programs, their text, givens and solvers
- ``workload_tables.py``: what a workload file asks
- ``forecast_tables.py``: what a solve will take
- ``solution_tables.py``: what was solved, tuned, verified
- ``history_tables.py``: iterations and rounds
- ``comparison_tables.py``: programs side by side
- ``ranking_tables.py``: programs and baselines at a stated privacy, best first
- ``baseline_tables.py``: baselines, and their factors to programs
- ``accuracy_tables.py``: how accurate answers will be, and what they cost
- ``accuracy_chart.py``: the half widths of all queries
- ``release_tables.py``: a release: planned, answered, simulated
- ``saved_release.py``: a release as rows, from its manifest
- ``ledger_tables.py``: what was spent from a ledger
- ``charts.py``: what charts have in common
- ``descents.py``: how solves came down
- ``convergence_chart.py``: gap against time and iterations
- ``profile_chart.py``: performance profiles
- ``release_chart.py``: the answers of a release, with error bars
- ``explain/``: a program explained
- ``displays.py``: what a notebook shows
- ``frames.py``: what users hold as named columns, by kind
- ``figures.py``: the charts of what users hold, by kind
- ``page.py``: a report: one page of all of it
- ``strategy_charts.py``: of a strategy: heat map, privacy profile, error of each query
"""

from mmopt.report.accuracy_chart import write_accuracy_chart
from mmopt.report.accuracy_tables import (
    accuracy_by_group,
    accuracy_by_query,
    shares_by_group,
    shares_by_query,
)
from mmopt.report.baseline_tables import baseline_costs, baselines_table
from mmopt.report.charts import check_chart
from mmopt.report.comparison_tables import comparison_report
from mmopt.report.convergence_chart import convergence_figure, write_chart, write_convergence
from mmopt.report.displays import display
from mmopt.report.explain import Explanation, explain
from mmopt.report.figures import chart
from mmopt.report.forecast_tables import Sizes, SolverSize, cones_table, sizes_of, sizes_tables, solvers_table
from mmopt.report.frames import framed
from mmopt.report.history_tables import history_frame, history_table
from mmopt.report.ledger_tables import entries_table
from mmopt.report.page import Contents, solution_page, write_page
from mmopt.report.profile_chart import performance_profile, profile_figure, write_profile
from mmopt.report.program_tables import (
    givens_table,
    highlighted,
    lines_table,
    program_listing,
    programs_table,
    takers,
    takers_table,
)
from mmopt.report.release_tables import (
    NOT_PRIVATE,
    answers_table,
    privacy_rows,
    simulated_table,
)
from mmopt.report.saved_release import release_rows
from mmopt.report.solution_tables import (
    slack_table,
    solution_rows,
    subworkloads_table,
    templates_table,
    tuning_table,
    verification_report,
)
from mmopt.report.table_style import pairs_table, paragraphs
from mmopt.report.workload_tables import NORMALISED, domain_table, queries_table
from mmopt.results import Frame

__all__ = [
    "NORMALISED",
    "NOT_PRIVATE",
    "Contents",
    "Explanation",
    "Frame",
    "Sizes",
    "SolverSize",
    "accuracy_by_group",
    "accuracy_by_query",
    "answers_table",
    "baseline_costs",
    "baselines_table",
    "chart",
    "check_chart",
    "comparison_report",
    "cones_table",
    "convergence_figure",
    "display",
    "domain_table",
    "entries_table",
    "explain",
    "framed",
    "givens_table",
    "highlighted",
    "history_frame",
    "history_table",
    "lines_table",
    "pairs_table",
    "paragraphs",
    "performance_profile",
    "privacy_rows",
    "profile_figure",
    "program_listing",
    "programs_table",
    "queries_table",
    "release_rows",
    "shares_by_group",
    "shares_by_query",
    "simulated_table",
    "sizes_of",
    "sizes_tables",
    "slack_table",
    "solution_page",
    "solution_rows",
    "solvers_table",
    "subworkloads_table",
    "takers",
    "takers_table",
    "templates_table",
    "tuning_table",
    "verification_report",
    "write_accuracy_chart",
    "write_chart",
    "write_convergence",
    "write_page",
    "write_profile",
]
