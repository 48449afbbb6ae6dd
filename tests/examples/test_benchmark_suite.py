"""The shipped suites: every instance builds, is of its class, and has the optimum that is written down."""

import importlib.util
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.examples.scripts import EXAMPLES, scripts, status

FOLDER = EXAMPLES / "benchmark" / "proved"
benchmark = scripts("benchmark")
INSTANCES = benchmark.suite_table.instances_in(FOLDER)
OPTIMA = benchmark.suite_table.optima_in(FOLDER)
CLASSES = benchmark.suite_table.CLASSES
WIDTH = 1e-9  # what is promised of the intervals
SOLVER = dict(zip(CLASSES, ("qoco", "clarabel", "cvxopt", "cvxopt", "clarabel"), strict=True))
ACCURACY = 1e-6  # of these solvers
COURSE = EXAMPLES / "benchmark" / "standard"
PROBLEMS = {each.name: each for each in benchmark.suite_table.instances_in(COURSE)}


def test_sixty_instances_at_least_eight_of_each_class_all_proved() -> None:
    counts = Counter(each.stated for each in INSTANCES)
    assert set(counts) == set(CLASSES) and min(counts.values()) >= 8 and len(INSTANCES) >= 60
    assert set(OPTIMA) == {each.name for each in INSTANCES}
    for name, optimum in OPTIMA.items():
        lower, upper = float(optimum.lower), float(optimum.upper)
        assert lower < upper <= lower + WIDTH * max(1.0, abs(lower)), name


@pytest.mark.some(3)
@pytest.mark.parametrize("name", [each.name for each in INSTANCES])
def test_an_instance_has_its_class_its_data_and_its_optimum(name: str) -> None:
    """By a solver that had no part in the proof (of Clarabel only its start came)."""
    instance = next(each for each in INSTANCES if each.name == name)
    found = benchmark.make.made(instance)
    assert found.about["class"] == instance.stated
    assert found.about["sha256"] == OPTIMA[name].sha256
    assert (".dat-s" in found.files) == (instance.stated != "exponential cone")
    check_optimum(instance, SOLVER[instance.stated], OPTIMA[name])


def check_optimum(instance: Any, solver: str, optimum: Any) -> None:
    problem = benchmark.make.export(instance.workload, instance.program, "cbf").problem
    called = benchmark.called_solvers.CALLED[solver]
    value = called(replace(problem, options=replace(problem.options, tolerance=1e-8)))["x"] @ problem.c
    value = (value + problem.offset) * (-1 if problem.sense == "maximize" else 1)
    near = ACCURACY * max(1.0, abs(value))
    assert float(optimum.lower) - near <= value <= float(optimum.upper) + near


@pytest.mark.some(2)
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_problem_of_a_course_has_its_data_and_its_optimum(name: str) -> None:
    """Every file of the folder is in the suite, and most optima are proved."""
    assert {each.program_name for each in PROBLEMS.values()} == {f.name for f in COURSE.glob("*.program")}
    optima = benchmark.suite_table.optima_in(COURSE)
    assert set(optima) == set(PROBLEMS) and sum(bool(each.lower) for each in optima.values()) >= 20
    found, optimum = benchmark.make.made(PROBLEMS[name]), optima[name]
    assert found.about["sha256"] == optimum.sha256
    if optimum.lower:
        check_optimum(PROBLEMS[name], SOLVER[optimum.row["class"]], optimum)


@pytest.mark.slow
def test_every_optimum_is_proved_for_the_data_of_today() -> None:
    """One that is not would end every run of its suite."""
    optima = {**OPTIMA, **benchmark.suite_table.optima_in(COURSE)}
    data = {each.name: benchmark.make.made(each).about["sha256"] for each in [*INSTANCES, *PROBLEMS.values()]}
    assert data == {name: each.sha256 for name, each in optima.items()}


@pytest.mark.some(1)
@pytest.mark.parametrize("name", [name for name, each in OPTIMA.items() if int(each.row["unknowns"]) < 50])
def test_the_proof_can_be_done_again(name: str) -> None:
    """Proofs that take seconds are done again."""
    instance = next(each for each in INSTANCES if each.name == name)
    found = benchmark.proved_interval.proved(benchmark.make.made(instance).files[".cbf"])
    known = OPTIMA[name]
    # Both intervals hold the optimum.
    assert float(found["lower"]) <= float(known.upper) and float(known.lower) <= float(found["upper"])
    assert float(found["upper"]) - float(found["lower"]) <= WIDTH * max(1.0, abs(float(known.lower)))


def test_a_file_for_other_data_has_another_hash() -> None:
    text = benchmark.make.made(INSTANCES[0]).files[".cbf"]
    data_hash = benchmark.suite_table.data_hash
    assert data_hash(f"# another comment\n\n{text}") == data_hash(text)
    lines = text.splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("ACOORD")) + 2
    lines[place] = f"{lines[place]}1"
    assert data_hash("\n".join(lines)) != data_hash(text)


def test_the_data_are_exact() -> None:
    """Whole numbers, halves and quarters alone: they do not depend on the machine."""
    for instance in INSTANCES[:: len(INSTANCES) // 6]:
        problem = benchmark.make.export(instance.workload, instance.program, "npz").problem
        values = np.concatenate([problem.c, problem.b, problem.A.data])
        off = {float(v) for v in values if v * 8 != round(v * 8)}
        roots = {v for v in off if abs((v / np.sqrt(2.0) * 8) - round(v / np.sqrt(2.0) * 8)) < 1e-12}
        assert off == roots, instance.name


def test_files_are_made_without_what_proofs_need(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """python-flint is no dependency of the package."""
    spec = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "flint" else spec(name))
    monkeypatch.setitem(sys.modules, "flint", None)
    suite = ("benchmark/make.py", str(EXAMPLES / "benchmark" / "proved"), "--only", "cover-ranges-8")
    assert status(monkeypatch, *suite, "--out", str(tmp_path / "files")) in (0, None)
    assert sorted(f.name for f in (tmp_path / "files").iterdir()) == [
        "cover-ranges-8.cbf",
        "cover-ranges-8.dat-s",
    ]
    assert status(monkeypatch, *suite, "--prove") == 2
    assert "a proof needs python-flint, which is not installed" in capsys.readouterr().err
