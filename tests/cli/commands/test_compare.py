"""``mmopt compare`` prints, ranks and draws what was compared; Ctrl-C gives what there is."""

import contextlib
import importlib.util
import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from processes import Marked, linux_only, wait_for

from mmopt import comparison, comparison_process
from mmopt.comparison import Isolated, Outcome
from mmopt.comparison.isolated_tasks import Costed
from mmopt.comparison.worker import Costing, Solving
from mmopt.language import Program, program_names
from mmopt.strategies.baselines import Evaluated, baseline_names
from tests.cli.tasks_here import Here, heed_ctrl_c

KEYS = {
    "kind", "program", "solver", "status", "objective", "bound", "gap", "value", "error", "error_bound",
    "seconds", "iterations", "formulation_of", "tolerance", "stop", "problem", "elapsed", "memory", "points",
}  # fmt: skip
CELLS = ", ".join(str(edge) for edge in range(49))
LONG = f"domain: {{age: {{bins: [{CELLS}]}}}}\nworkload: [{{product: {{age: prefix}}}}]\n"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Here:
    """The tasks of ``mmopt compare``, done in this process."""
    here = Here()
    monkeypatch.setattr(comparison_process, "Worker", lambda verbose: contextlib.nullcontext())
    monkeypatch.setattr(comparison, "Isolated", lambda verbose, worker: contextlib.nullcontext(here))
    return here


@pytest.fixture
def compared(run: Any, here: Here) -> Any:
    return run


@pytest.mark.nightly
def test_compare_all(run: Any, files: Path) -> None:
    done = run("compare", "total.yaml", "--time-limit", "60", "--formulations")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    first = done.out[done.out.index("Certificates") : done.out.index("Work")]
    rows = [
        line.split()[0] for line in first.splitlines() if line.split() and line.split()[0] in program_names()
    ]
    left_out = done.out[done.out.index("Left out:") :]
    # Designs and counts have no strategy; programs for neighbours of their own are compared with none.
    alone = {"a_optimal_design", "d_optimal_design", "e_optimal_design", "refine_counts", "refine_tables"}
    alone |= {"banded_strategy", "user_level_strategy", "replace_one"}
    assert sorted(
        [*rows, *(n for n in program_names() if f"{n}:" in left_out or f"{n}," in left_out)]
    ) == sorted(set(program_names()) - alone)
    ranked = [line.split() for line in done.out[: done.out.index("Certificates")].splitlines()]
    errors = [float(row[3]) for row in ranked if row[1:2] == ["program"]]
    assert errors == sorted(errors) and len(errors) > 20
    unranked = done.out[: done.out.index("Left out:")].partition("Not ranked:")[2]
    assert len(errors) + sum(f" {name}:" in unranked for name in rows) == len(rows)
    text = " ".join(done.out.split())
    assert "fitness_for_use" in left_out
    assert (
        "the program needs accuracy targets, and no query of the workload has one; write max_variance" in text
    )
    # A formulation stands below its base.
    assert rows.index("l2_strategy_lmi") > rows.index("l2_strategy")
    assert "\n  l2_strategy_lmi " in first


def test_compare_as_json(compared: Any, files: Path) -> None:
    done = compared(
        "compare",
        "targets.yaml",
        "--programs",
        "l2_strategy_lmi, l2_strategy",
        "--solvers",
        "scs,clarabel",
        "--tolerance",
        "1e-3, 1e-4",
        "--json",
    )
    found = [o for o in json.loads(done.out) if o["kind"] == "program"]
    assert [(o["program"], o["solver"], o["tolerance"]) for o in found] == [
        (p, s, t)
        for p in ("l2_strategy_lmi", "l2_strategy")
        for s in ("scs", "clarabel")
        for t in (1e-3, 1e-4)
    ]
    assert all(o.keys() >= KEYS for o in found)
    assert all(o["gap"] <= o["tolerance"] == o["options"]["tolerance"] for o in found)
    objectives = [o["objective"] for o in found]
    assert max(objectives) <= min(objectives) * (1 + 1e-3)


def test_formulations_are_added(compared: Any, files: Path) -> None:
    done = compared(
        "compare", "total.yaml", "--programs", "l2_strategy", "--formulations", "--no-baselines", "--json"
    )
    names = [o["program"] for o in json.loads(done.out)]
    assert sorted(names) == [
        n for n in program_names() if (Program.load(n).formulation_of or n) == "l2_strategy"
    ]


def test_a_program_of_ones_own(compared: Any, files: Path) -> None:
    (files / "own.program").write_text(
        Program.load("query_weighting").text.replace("program query_weighting", "program own"),
        encoding="utf-8",
    )
    done = compared(
        "compare", "total.yaml", "--programs", "own.program,query_weighting", "--no-baselines", "--json"
    )
    own, shipped = json.loads(done.out)
    assert (own["program"], own["objective"]) == ("own", shipped["objective"])


def test_a_given_goes_to_the_programs_that_have_it(compared: Any, files: Path) -> None:
    asked = "compare", "total.yaml", "--programs", "query_weighting,l2_strategy", "--no-baselines", "--json"
    solved = [json.loads(compared(*asked, *more).out) for more in ((), ("--given", "Q=identity"))]
    (plain, least), (weighted, again) = ([one["objective"] for one in both] for both in solved)
    assert least == again <= weighted != plain
    done = compared(*asked, "--given", "R=haar")
    assert done.err.startswith("error: no program compared has a given 'R'\n")


def test_where_nothing_can_be_solved(compared: Any, files: Path) -> None:
    done = compared("compare", "total.yaml", "--programs", "fitness_for_use", "--json", "--chart", "gaps.svg")
    assert done.status == 2
    assert done.err == "error: nothing could be solved\n  the table has the reason for each program\n"
    (found,) = json.loads(done.out)
    assert found["status"] is None and found["problem"].startswith("the program needs accuracy targets")
    assert not (files / "gaps.svg").exists()


def test_limits_reach_every_task(run: Any, files: Path, here: Here) -> None:
    options = ("--programs", "l2_strategy", "--solvers", "scs,clarabel", "--memory-limit", "8")
    done = run("compare", "total.yaml", *options, "--time-limit", "50", "--no-baselines")
    assert done.status == 0 and "Baselines" not in done.out
    assert [(task.memory_limit, task.time_limit) for task in here.done] == [(2**33, 50.0)] * 2


def test_baselines(compared: Any, files: Path) -> None:
    done = compared("compare", "total.yaml", "--programs", "l2_strategy")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    title = "Best first, by the root mean square of the standard errors, at epsilon = 1, delta = 1e-06"
    table = done.out[: done.out.index("Certificates (objectives are for noise of variance 1)\n")]
    assert " ".join(table.split()).startswith(f"{title} kind noise rmse factor same noise ")
    rows = [line.split() for line in table.splitlines() if line.split()[1:2] in (["program"], ["baseline"])]
    assert [float(row[3]) for row in rows] == sorted(float(row[3]) for row in rows)
    assert [row[0] for row in rows if row[1] == "program"] == ["l2_strategy"]
    shown = {name for name in baseline_names() if f"\n{name} " in table}
    noises = ("Gaussian", "Laplace")  # also where no program is for that
    assert sorted((row[0], row[2]) for row in rows if row[1] == "baseline") == [
        (name, noise) for name in sorted(shown) for noise in noises
    ]
    assert {row[2]: row[5] == "-" for row in rows} == {"Gaussian": False, "Laplace": True}
    left_out = done.out[done.out.index("Baselines left out:\n") :]
    others = {name for name in baseline_names() if name not in shown}
    assert others == {"greedy_h", "square_root", "blt", "fourier", "datacube", "residual_planner"}
    assert "  greedy_h: it splits one attribute, the workload has 2\n" in left_out
    assert "  fourier, datacube, residual_planner: the queries are not marginals" in left_out


def test_by_what_targets_cost_where_every_query_has_one(compared: Any, files: Path) -> None:
    text = (files / "targets.yaml").read_text(encoding="utf-8")
    (files / "all.yaml").write_text(f"{text}privacy: {{epsilon: 1.0, delta: 1.0e-6}}\n", encoding="utf-8")
    arguments = ("compare", "all.yaml", "--programs", "l2_strategy,fitness_for_use", "--baseline", "identity")
    done = compared(*arguments)
    title = "Best first, by the epsilon at which every target is met; rmse at epsilon = 1, delta = 1e-06"
    assert " ".join(done.out.split()).startswith(f"{title} kind noise epsilon needed factor rmse ")
    assert max(map(len, done.out.splitlines())) <= 80
    found = json.loads(compared(*arguments, "--json").out)
    assert sorted(one["cost"] for one in found) == [
        one["cost"] for one in sorted(found, key=lambda one: one["rank"])
    ]
    fitness = next(one for one in found if one.get("program") == "fitness_for_use")
    released = run_release(compared, files, fitness["cost"])
    assert released["privacy"]["epsilon"] == pytest.approx(fitness["cost"], rel=1e-6)


def run_release(run: Any, files: Path, cost: float) -> Any:
    """A release whose noise the targets set, at a privacy that just allows it."""
    text = (files / "targets.yaml").read_text(encoding="utf-8")
    (files / "own.yaml").write_text(
        f"{text}privacy: {{epsilon: {cost * 1.001}, delta: 1.0e-6}}\n", encoding="utf-8"
    )
    options = ("--program", "fitness_for_use", "--json")
    return json.loads(run("release", "own.yaml", "people.csv", *options).out)


def test_baselines_by_name_as_json(compared: Any, files: Path) -> None:
    names = ("--baseline", "hierarchical(branching=3)", "--baseline", "workload", "--baseline", "greedy_h")
    programs = ("--programs", "l2_strategy,laplace_weighting")
    done = compared("compare", "total.yaml", *programs, *names, "--json")
    best, laplace, *rows = json.loads(done.out)
    assert [(o["kind"], o["name"], o["norm"]) for o in rows] == [
        ("baseline", "hierarchical(branching=3)", 2),
        ("baseline", "hierarchical(branching=3)", 1),
        ("baseline", "workload", 2),
        ("baseline", "workload", 1),
        ("baseline", "greedy_h", None),
    ]
    for row in rows[:-1]:
        other = best if row["norm"] == 2 else laplace
        assert row["against"]["program"] == other["program"]
        assert row["error_factor"] == pytest.approx(row["error"] / other["error"])
        assert row["bound_factor"] == pytest.approx(row["error"] / best["error_bound"])
    # (1 + 3) · 8 and (1 + 3)² · 8, as tests/cli/commands/test_baselines.py has them
    assert [row["error"] for row in rows[2:4]] == pytest.approx([32.0, 128.0])
    assert rows[-1]["reason"] == "it splits one attribute, the workload has 2"


def test_a_chart(compared: Any, files: Path) -> None:
    for name, start in (("gaps.svg", b"<?xml"), ("gaps.PNG", b"\x89PNG")):
        done = compared(
            "compare", "total.yaml", "--programs", "singular_value_bound", "--no-baselines", "--chart", name
        )
        assert (done.status, done.err) == (0, f"chart: {name}\n")
        assert (files / name).read_bytes().startswith(start)
    assert not list(files.glob(".*"))


def test_a_chart_without_matplotlib(refused: Any, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else found(name)
    )
    assert refused("compare", "total.yaml", "--chart", "gaps.svg") == (
        "error: a chart needs matplotlib, which is not installed\n  pip install mmopt[chart]"
    )
    assert not here.done


@linux_only
def test_no_process_is_left_where_a_file_is_refused(refused: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = Marked(monkeypatch)
    begun = []
    start = comparison_process.Worker

    def started(*arguments: Any) -> Any:
        begun.append(start(*arguments))
        return begun[-1]

    monkeypatch.setattr(comparison_process, "Worker", started)
    assert refused("compare", "nowhere.yaml").startswith("error: ")
    assert [worker.returncode for worker in begun] == [-signal.SIGKILL]
    assert wait_for(lambda: not marked.alive())


def interrupted(
    marked: Marked, files: Path, *options: str, second: bool = False
) -> subprocess.CompletedProcess[str]:
    """A comparison in a process of its own that gets Ctrl-C while its first or second combination solves."""
    (files / "long.yaml").write_text(LONG, encoding="utf-8")
    command = [sys.executable, "-m", "mmopt", "compare", "long.yaml", "--json", *options]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heed_ctrl_c
    ) as process:

        def solving() -> set[int]:
            alive = marked.alive()
            return {pid for pid in marked.solving() if alive.get(pid, process.pid) != process.pid}

        assert wait_for(solving, 600.0)
        first = solving()
        if second:  # the first is over soon, maybe so soon that it was not seen
            wait_for(lambda: solving() - first, 15.0)
        # CVXOPT takes long for l2_strategy, and cannot be stopped.
        assert not wait_for(lambda: process.poll() is not None, 1.0)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=600)
    assert wait_for(lambda: not marked.alive())
    return subprocess.CompletedProcess(command, process.returncode, out, err)


@pytest.mark.nightly
@linux_only
def test_ctrl_c_gives_what_there_is(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marked = Marked(monkeypatch)
    options = ("--programs", "query_weighting,l2_strategy,fitness_for_use", "--solvers", "cvxopt")
    done = interrupted(marked, files, *options, second=True)
    assert done.returncode == 130, done
    found = json.loads(done.stdout)
    stops = [o["stop"] for o in found]
    assert len(stops) == 3 and stops[-1] == "not started" and "interrupted" in stops
    assert done.stderr.endswith(f"interrupted: {stops.count('not started')} of 3 are left out\n")


@pytest.mark.slow
@linux_only
def test_ctrl_c_before_anything_is_solved(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = interrupted(Marked(monkeypatch), files, "--programs", "l2_strategy", "--solvers", "cvxopt")
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr.endswith("interrupted, nothing written\n")


def test_ctrl_c_during_a_program(compared: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    solve = Isolated.run

    def pressed(self: Isolated, task: Solving, report: Any = None) -> Outcome:
        self.interrupted = task.program.name == "l2_strategy"
        return solve(self, task, report)

    monkeypatch.setattr(Isolated, "run", pressed)
    done = compared(
        "compare", "total.yaml", "--programs", "query_weighting,l2_strategy,eigen_design", "--json"
    )
    assert [o["stop"] for o in json.loads(done.out)] == ["gap reached", "gap reached", "not started"]
    assert done.err.endswith("interrupted: 1 of 3 are left out\n")


def test_ctrl_c_during_the_baselines(compared: Any, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cost = Isolated.cost

    def pressed(self: Isolated, task: Costing) -> Costed:
        found = cost(self, task)
        if task.baseline == "workload":
            self.interrupted = True
            return Costed(Evaluated(task.baseline, found.evaluated.title, "", (), "interrupted"))
        return found

    monkeypatch.setattr(Isolated, "cost", pressed)
    done = compared("compare", "total.yaml", "--programs", "l2_strategy")
    assert (done.status, done.err) == (0, "interrupted: some baselines are missing\n")
    others = [name for name in baseline_names() if name not in ("identity", "workload")]
    assert "\nidentity " in done.out and "\nwavelet " not in done.out
    text = " ".join(done.out.split())
    assert "Baselines left out: workload: interrupted " in text
    assert f"{', '.join(others)}: not evaluated: the comparison was interrupted" in text


def test_programs_that_ask_nothing_of_a_workload_need_none(run: Any, here: Here, tmp_path: Path) -> None:
    file = tmp_path / "own.program"
    text = "program own\nchoose\n    x: vector[2] >= 0\nminimize sum(x)\nsubject to\n    c: x >= 1\n"
    file.write_text(text, encoding="utf-8")
    done = run("compare", "--programs", file, "--json")
    assert (done.status, [one["objective"] for one in json.loads(done.out)]) == (0, [pytest.approx(2.0)])
    shown = run("compare", "--programs", file).out
    assert "gap reached" in shown and "mmopt baselines" not in shown
