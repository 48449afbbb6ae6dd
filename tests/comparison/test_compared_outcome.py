"""From what a process said and how it ended to an outcome.

Guards isolated_tasks.py.
"""

from dataclasses import replace

import numpy as np
import pytest

from mmopt.comparison import Outcome, Predicted, Stated
from mmopt.comparison.isolated_tasks import Costed, Run, costs_of, outcome_of
from mmopt.comparison.worker import Costing, Done, Failed, Predictions, Solving, Started
from mmopt.comparison_process import Ended
from mmopt.driver import Progress
from mmopt.driver.solve_and_tune import solve
from mmopt.language import Program
from mmopt.privacy import Privacy
from mmopt.strategies.baselines import evaluate
from mmopt.workloads import Workload

TASK = Solving(
    workload=Workload.from_matrix(np.eye(2)),
    program=Program.load("l2_strategy_lmi"),
    solver="scs",
    tolerance=1e-3,
    time_limit=10.0,
    memory_limit=2**31,
)


def ended(status: int, *messages: object, said: str = "", killed: str = "", task: Solving = TASK) -> Outcome:
    run = Run(task, killed=killed)
    for message in (Started(1, 0), *messages, Ended(status)):
        run.take(message)
    return outcome_of(run, status, said)


def test_labels_come_from_the_task() -> None:
    outcome = ended(3)
    assert (outcome.program, outcome.formulation_of) == ("l2_strategy_lmi", "l2_strategy")
    assert (outcome.solver, outcome.tolerance, outcome.solution) == ("scs", 1e-3, None)


def test_deaths(subtests: pytest.Subtests) -> None:
    none = "the process ended with status 3 and no result"
    for status, said, stop, reason, hint in (
        (3, "", "crashed", none, "a solver may end like this when memory runs out; the limit was 2 GiB"),
        (3, "one\nlast words\n", "crashed", none, "it last wrote: last words"),
        (-11, "oops", "crashed", "the process ended with signal 11 (SIGSEGV)", "it last wrote: oops"),
        (-64, "oops", "crashed", "the process ended with signal 64 (SIGRTMAX)", "it last wrote: oops"),
        (
            *(-6, "memory allocation of 26791200 bytes failed", "memory limit", "needed more than 2 GiB"),
            "allow more memory, or try another solver (a first-order one needs least) or formulation",
        ),
    ):
        with subtests.test(reason, said=said):
            outcome = ended(status, said=said)
            assert (outcome.stop, outcome.reason) == (stop, reason)
            assert outcome.problem == f"{reason}\n  {hint}"


def test_a_solver_that_reports_a_failed_allocation_as_something_else() -> None:
    failed = Failed("no result", "scs returned no point", "scs returned no point", 5)
    assert ended(0, failed).reason == "scs returned no point"
    outcome = ended(0, failed, said="Failed to allocate memory for AA.\n")
    assert (outcome.stop, outcome.reason, outcome.memory) == ("memory limit", "needed more than 2 GiB", 5)
    raised = Failed("crashed", "a bug in mmopt (ValueError: ScsWork allocation error!)", "", 5)
    assert ended(0, raised).stop == "memory limit"


def test_what_was_known_when_it_was_stopped() -> None:
    points = [Progress("p", "scs", 1.5, 10, 2.0, bound) for bound in (None, 1.0)]
    for known, words in (
        ([], ", before it had a certified point"),
        (points[:1], "; its last certified point, after 1.5 s, had no bound"),
        (points, "; its last certified point, after 1.5 s, had gap 1.0e+00"),
    ):
        assert ended(-9, *known, killed="time limit").reason.endswith(f"by the time limit of 10 s{words}")
        outcome = ended(-9, *known, killed="interrupted")
        assert (outcome.reason, outcome.stop) == (f"interrupted{words}", "interrupted")
        assert outcome.history == tuple(known)


def test_a_solution_that_cannot_be_read_is_a_bug_of_ours_and_ends_nothing() -> None:
    outcome = ended(0, Done({}, None))
    assert (outcome.stop, outcome.solution) == ("crashed", None)
    assert outcome.problem.startswith("a bug in mmopt (") and outcome.problem.endswith("\n  please report it")


COSTING = Costing(workload=TASK.workload, baseline="wavelet", norms=(2,), time_limit=10.0, memory_limit=2**31)


def costs(status: int, *messages: object, said: str = "", killed: str = "") -> Costed:
    run = Run(COSTING, killed=killed)
    for message in (Started(1, 0), *messages, Ended(status)):
        run.take(message)
    return costs_of(run, status, said)


def test_what_became_of_a_baseline() -> None:
    found = evaluate("wavelet", COSTING.workload, (2,))
    assert costs(0, Done(found, 7)).evaluated is found
    for one, reason in (
        (costs(-9, killed="interrupted"), "interrupted"),
        (costs(-9), "the process was killed (signal 9), as the system does when memory runs out"),
        (costs(1, said="bad_alloc"), "needed more than 2 GiB"),
        (costs(0, Failed("memory limit", "", "", 5)), "needed more than 2 GiB"),
        (
            costs(0, Failed("crashed", "a bug in mmopt (ValueError: x)", "", 5)),
            "a bug in mmopt (ValueError: x)",
        ),
    ):
        evaluated = one.evaluated
        assert (evaluated.name, evaluated.title, evaluated.costs) == ("wavelet", found.title, ())
        assert (evaluated.reason, one.predicted) == (reason, {})
    late = costs(-9, killed="time limit").evaluated.reason
    assert late is not None and late.endswith(" s by the time limit of 10 s")


def test_a_solution_outlives_what_comes_after_it(subtests: pytest.Subtests) -> None:
    for case, (then, killed, predicted) in {
        "predicted": ((Predictions({2: Predicted(3.5)}),), "", Predicted(3.5)),
        "memory": ((Failed("memory limit", "", "", 5),), "", "its release was not predicted: memory limit"),
        "time": ((), "time limit", "its release was not predicted: time limit"),
        "crash": ((), "", "its release was not predicted: its process ended"),
    }.items():
        with subtests.test(case):
            task = replace(TASK, stated=Stated(Privacy(epsilon=1.0, delta=1e-6)))
            found = solve(TASK.workload, "l2_strategy")
            outcome = ended(-9, Done(found.fields(), 7), *then, killed=killed, task=task)
            expected = Predicted(reason=predicted) if isinstance(predicted, str) else predicted
            assert (outcome.stop, outcome.memory, outcome.predicted) == (found.status.stop, 7, expected)
            assert outcome.solution is not None and outcome.solution.rmse == found.rmse
            assert (outcome.noise, outcome.rmse) == ("Gaussian", expected.rmse)
            # Without a privacy nothing is missing.
            outcome = ended(-9, Done(found.fields(), 7), *then[:0], killed=killed)
            assert (outcome.predicted, outcome.rmse) == (Predicted(), found.rmse)
