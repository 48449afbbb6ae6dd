"""The kernels against the registry, as the programs that they claim."""

import pytest

from mmopt.language import Program
from mmopt.solvers import KERNELS
from mmopt.testing import conform
from mmopt.testing.conformance.checks_and_report import kernel_duals

# Prefix sums, targets that differ, and what is not of full rank in one way or another.
FEW = ["prefix", "random-ranges", "rank-deficient", "zero-columns", "two-queries-of-one-cell"]
# A search may end anywhere, and is no matter for conformance; low_rank has the halves of one, which are laid
# beside the conic route in tests/driver/test_choice.py. Sectors take no problem of so few cells
# (tests/driver/test_sectors.py).
CLAIMED = [
    (kernel.name, program)
    for kernel in KERNELS
    for program in kernel.programs
    if Program.load(program).problem_class == "convex" and kernel.name not in ("low_rank", "sectors")
]
BASES = [
    ("nuclear", "l2_strategy"),
    ("nuclear", "fitness_for_use"),
    ("nuclear", "fitness_budget"),
    ("weighting", "query_weighting"),
    ("weighting", "laplace_weighting_dual"),
    ("weighting", "separate_weighting"),
]
# Of how many problems a kernel takes more than; banded only steps that the queries all tell apart.
TAKEN = {"banded": 10}


@pytest.mark.some(1)
@pytest.mark.parametrize(("kernel", "program"), BASES)
def test_a_kernel_conforms(kernel: str, program: str) -> None:
    report = conform(kernel, [program], FEW, twists=1)
    assert report.holds, str(report)
    for check in ("file", "bound", "gap", "conic route", "derivatives"):
        assert report.passed[check] == len(FEW)
    assert report.notes == ()


@pytest.mark.nightly
@pytest.mark.parametrize("reduce", [True, False])
@pytest.mark.parametrize(("kernel", "program"), CLAIMED)
def test_a_kernel_conforms_on_all_problems(kernel: str, program: str, reduce: bool) -> None:
    report = conform(kernel, [program], twists=1, options={"reduce": reduce})
    assert report.holds and report.notes == (), str(report)
    assert report.passed["gap"] > TAKEN.get(kernel, 20)
    # The derivatives of the others are in the tests of their own.
    assert kernel_duals(kernel) is None or report.passed["derivatives"] == report.passed["gap"]


def test_what_a_kernel_does_not_claim_is_skipped() -> None:
    report = conform("weighting", ["l2_strategy"], ["prefix"])
    assert [(skip.check, skip.reason) for skip in report.skips] == [
        ("derivatives", "no dual function was passed for it"),
        ("solved", "the kernel 'weighting' does not know 'l2_strategy'"),
    ]
    assert kernel_duals("clarabel") is None and kernel_duals(None) is None
