"""The names that ``mmopt.report`` exports, loaded all together."""

from mmopt.report.accuracy_release_and_ledger_tables import (
    NOT_PRIVATE,
    accuracy_by_group,
    accuracy_by_query,
    answers_table,
    entries_table,
    privacy_rows,
    release_rows,
    release_tables,
    shares_by_group,
    shares_by_query,
    simulated_table,
)
from mmopt.report.chart_parts import check_chart, need_matplotlib
from mmopt.report.comparison_tables import baseline_costs, baselines_table, comparison_report
from mmopt.report.convergence_chart import convergence_figure
from mmopt.report.displays_frames_and_charts import chart, display, framed
from mmopt.report.explain.explanation_text_and_latex import renderables
from mmopt.report.program_tables_and_forecasts import (
    Sizes,
    SolverSize,
    cones_table,
    given_rows,
    givens_table,
    lines_table,
    programs_table,
    sizes_of,
    sizes_tables,
    solvers_table,
    takers,
    takers_table,
)
from mmopt.report.report_page import Contents, solution_page, write_page
from mmopt.report.solution_recheck_and_history_tables import (
    history_frame,
    history_table,
    slack_table,
    solution_rows,
    subworkloads_table,
    templates_table,
    tuning_table,
    verification_report,
)
from mmopt.report.strategy_accuracy_and_release_charts import accuracy_figure
from mmopt.report.table_style import (
    NORMALISED,
    domain_table,
    in_order,
    pairs_table,
    paragraphs,
    queries_table,
)
from mmopt.report.trace_tree import Trace, trace, trace_to_failure
from mmopt.results import Frame

__all__ = [
    "NORMALISED",
    "NOT_PRIVATE",
    "Contents",
    "Frame",
    "Sizes",
    "SolverSize",
    "Trace",
    "accuracy_by_group",
    "accuracy_by_query",
    "accuracy_figure",
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
    "framed",
    "given_rows",
    "givens_table",
    "history_frame",
    "history_table",
    "in_order",
    "lines_table",
    "need_matplotlib",
    "pairs_table",
    "paragraphs",
    "privacy_rows",
    "programs_table",
    "queries_table",
    "release_rows",
    "release_tables",
    "renderables",
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
    "trace",
    "trace_to_failure",
    "tuning_table",
    "verification_report",
    "write_page",
]
