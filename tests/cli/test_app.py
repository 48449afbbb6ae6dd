"""Help, version, the list of programs, and what happens to exceptions."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import mmopt
from mmopt.cli.app import build
from mmopt.cli.command_guard import guarded
from mmopt.errors import Location, OptionError
from mmopt.language import program_names
from mmopt.solvers import Clock

COMMANDS = tuple(command.callback.__name__ for command in build().registered_commands if command.callback)


def test_help_names_every_command_and_the_exit_statuses(run: Any) -> None:
    done = run("--help")
    assert done.status == 0
    assert all(f"\n  {name} " in done.out for name in COMMANDS)
    assert "130 interrupted (solve and compare give what they have by then, all else nothing)" in " ".join(
        done.out.split()
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_within_80_columns(run: Any, command: str) -> None:
    done = run(command, "--help")
    assert done.status == 0
    assert max(map(len, done.out.splitlines())) <= 80


def test_version(run: Any) -> None:
    assert run("--version").out == f"mmopt {mmopt.__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["slve"], ["solve"], ["solve", "a.yaml", "--tolerance", "x"], ["solve", "--no"]]
)
def test_usage_errors(run: Any, arguments: list[str]) -> None:
    done = run(*arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("Usage: ")


def test_programs(run: Any) -> None:
    done = run("programs")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert all(name in "".join(done.out.split()) for name in program_names())  # a long one may be folded


@pytest.mark.slow
def test_programs_by_solver(run: Any) -> None:
    done = run("programs", "--solvers")
    assert (done.status, done.err) == (0, "") and max(map(len, done.out.splitlines())) <= 90
    found = json.loads(run("programs", "--solvers", "--json").out)
    assert sorted(found) == program_names()
    assert found["l2_strategy"]["kernels"] == ["nuclear", "sectors"]
    assert found["query_weighting"]["kernels"] == ["weighting"]
    lacking = found["l2_strategy"]["lacking"]
    assert lacking["qoco"] == ["psd"] and lacking["scs"] == []
    assert found["augment"]["kernels"] == [] and set(found["augment"]["lacking"].values()) == {None}


def test_programs_as_json(run: Any) -> None:
    found = {p["name"]: p for p in json.loads(run("programs", "--json").out)}
    assert sorted(found) == program_names()
    assert found["l2_strategy_lmi"]["formulation_of"] == "l2_strategy"
    assert found["l2_strategy"]["certificate"] is True and found["l2_strategy"]["class"] == "convex"
    assert found["eigen_design"] | {"title": "", "source": ""} == {
        "name": "eigen_design",
        "class": "procedure",
        "title": "",
        "source": "",
        "formulation_of": None,
        "certificate": False,
        "bound": "l2_strategy",
    }


def outcome(function: Callable[[], None]) -> tuple[int, str]:
    app = typer.Typer()
    app.command()(guarded(function))
    result = CliRunner().invoke(app, [], catch_exceptions=False)
    return result.exit_code, result.stderr


def test_an_error_is_printed_as_it_is() -> None:
    def fails() -> None:
        raise OptionError("[bold]no[/bold]", where=Location("f", 1, 3, "a b " + "c" * 90), hint="do")

    expected = "error: f:1:3: [bold]no[/bold]\n    a b " + "c" * 90 + "\n      ^\n  do\n"
    assert outcome(fails) == (2, expected)


def test_ctrl_c() -> None:
    def fails() -> None:
        raise KeyboardInterrupt

    assert outcome(fails) == (130, "interrupted, nothing written\n")


def test_too_little_memory() -> None:
    def fails() -> None:
        raise MemoryError

    message = "error: not enough memory\n  'mmopt solve WORKLOAD --dry-run' says what a problem needs\n"
    assert outcome(fails) == (2, message)


def test_a_bug_shows_its_traceback_only_when_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> None:
        raise ZeroDivisionError("by zero")

    message = (
        "error: a bug in mmopt (ZeroDivisionError: by zero)\n"
        "  please report it with the command and its files; MMOPT_TRACEBACK=1 shows where it happened\n"
    )
    assert outcome(fails) == (70, message)
    monkeypatch.setenv("MMOPT_TRACEBACK", "1")
    status, text = outcome(fails)
    assert status == 70 and text.startswith("Traceback") and text.endswith(message)


def test_a_reader_that_goes_away_is_no_bug() -> None:
    def fails() -> None:
        raise OSError(errno.EPIPE, "Broken pipe")

    assert outcome(fails) == (1, "")


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_during_a_solve_gives_the_best_point_so_far(tmp_path: Path) -> None:
    workload = "domain: {a: {range: [0, 16], width: 1}}\nworkload: [{product: {a: prefix}}]\n"
    (tmp_path / "w.yaml").write_text(workload, encoding="utf-8")
    # The interrupt comes when the solver has the problem.
    code = (
        "import os, signal, sys\n"
        "from mmopt.solvers import Clock\n"
        "hand_over = Clock.hand_over\n"
        "def handed_over(self):\n"
        "    hand_over(self); os.kill(os.getpid(), signal.SIGINT)\n"
        "Clock.hand_over = handed_over\n"
        "from mmopt.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, "-c", code, "solve", "w.yaml", "--solver", "clarabel", "--json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert done.stderr.endswith("interrupted: this is the best certified point so far\n")
    found = json.loads(done.stdout)
    assert found["status"]["stop"] == "interrupted" and 0 < found["bound"] <= found["objective"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_ctrl_c_during_a_release_writes_nothing(
    files: Path, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hand_over = Clock.hand_over

    def pressed(self: Clock) -> None:
        hand_over(self)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Clock, "hand_over", pressed)
    done = run("release", "total.yaml", "people.csv", "--solver", "clarabel", "--out", "r")
    assert (done.status, done.out) == (130, "") and "interrupted, nothing written\n" in done.err
    assert not (files / "r").exists()
