# The names of mmopt and their modules: types for type checkers; __init__.py reads it, too.

from mmopt.answers import Accuracy, Budget, Release, accuracy, budget, load_release, release
from mmopt.comparison import Comparison, Factors, baseline_factors, compare
from mmopt.data import data_vector
from mmopt.driver import Tuned, solve, tune
from mmopt.errors import (
    ContradictionError,
    DataError,
    Error,
    LedgerError,
    Location,
    NotFoundError,
    OptionError,
    PrivacyError,
    ProgramError,
    ResultError,
    SolverError,
    TimeLimitError,
    TooLargeError,
    UnsuitableError,
    WorkloadError,
)
from mmopt.exchange import cvxpy_problem, export
from mmopt.language import Program
from mmopt.ledger import Ledger
from mmopt.mechanism import build_manifest, measure, plan, write_release
from mmopt.privacy import Privacy, PrivacyParameters
from mmopt.proof import bound_of, certify, dual_function, verify
from mmopt.report.explain import Explanation, explain
from mmopt.report.trace_tree import trace
from mmopt.request import Request, load_request
from mmopt.results import QueryAnswer, Solution, Verification
from mmopt.strategies import ComponentStrategy, Strategy
from mmopt.strategies.baselines import baseline
from mmopt.workloads import Attribute, Domain, Workload

__all__ = [
    "Accuracy",
    "Attribute",
    "Budget",
    "Comparison",
    "ComponentStrategy",
    "ContradictionError",
    "DataError",
    "Domain",
    "Error",
    "Explanation",
    "Factors",
    "Ledger",
    "LedgerError",
    "Location",
    "NotFoundError",
    "OptionError",
    "Privacy",
    "PrivacyError",
    "PrivacyParameters",
    "Program",
    "ProgramError",
    "QueryAnswer",
    "Release",
    "Request",
    "ResultError",
    "Solution",
    "SolverError",
    "Strategy",
    "TimeLimitError",
    "TooLargeError",
    "Tuned",
    "UnsuitableError",
    "Verification",
    "Workload",
    "WorkloadError",
    "__version__",
    "accuracy",
    "baseline",
    "baseline_factors",
    "bound_of",
    "budget",
    "build_manifest",
    "certify",
    "compare",
    "cvxpy_problem",
    "data_vector",
    "dual_function",
    "explain",
    "export",
    "load_release",
    "load_request",
    "measure",
    "plan",
    "release",
    "solve",
    "trace",
    "tune",
    "verify",
    "write_release",
]

__version__: str
