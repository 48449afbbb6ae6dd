"""The command line: help, the list of programs; exceptions become messages, and Ctrl-C ends in order.

Guards __main__.py, app.py, command_output.py, command_options.py, command_inputs.py, command_table.py,
solve_and_plan.py, cli/commands/workload_files.py, cli/commands/programs.py,
cli/commands/strategies_and_reports.py, errors.py (last words).
"""

import errno
import inspect
import json
import math
import os
import signal
import socket
import subprocess
import sys
import warnings
from dataclasses import fields
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

import mmopt
from mmopt.cli import app, command_output
from mmopt.cli.app import guarded
from mmopt.cli.command_table import COMMANDS, LEDGER_COMMANDS, PANELS
from mmopt.errors import Location, OptionError, last_words
from mmopt.language import program_names
from mmopt.solvers import Options
from tests.cli.tasks_here import heed_ctrl_c


def test_help_names_every_command_and_the_exit_statuses(run: Any) -> None:
    done = run("--help")
    assert done.status == 0
    assert all(f"\n  {name} " in done.out for name in (*COMMANDS, "ledger"))
    assert (
        "130 interrupted. An interrupted solve or compare returns what it has so far. A release that was "
        "already charged is completed, and says so. Other commands return nothing."
    ) in " ".join(done.out.split())


def test_help_has_panels_by_job_with_whole_summaries(run: Any) -> None:
    """Every command is in one panel; a wider or narrower screen cuts no summary either."""
    shown = run("--help").out
    titles = [f"{title}:" for title in PANELS]
    assert [line for line in shown.splitlines() if line in titles] == titles
    assert sorted(name for names in PANELS.values() for name in names) == sorted([*COMMANDS, "ledger"])
    lines = iter(shown[shown.index(titles[0]) :].splitlines())
    for name in (name for names in PANELS.values() for name in names):
        assert next(line for line in lines if line.startswith("  ")).split()[0] == name
    for words in (shown, run("ledger", "--help").out):
        assert "..." not in words.replace("[ARGS]...", "") and max(map(len, words.splitlines())) <= 80
    summaries = [command.help.split("\n")[0] for command in (*COMMANDS.values(), *LEDGER_COMMANDS.values())]
    assert all(summary.count(".") == 1 and summary.endswith(".") for summary in summaries)
    assert all(summary in shown for summary in summaries[: len(COMMANDS)])


def test_every_command_has_help_within_80_columns(run: Any, subtests: pytest.Subtests) -> None:
    commands = [[name] for name in COMMANDS]
    commands += [["ledger"], *(["ledger", name] for name in LEDGER_COMMANDS)]
    for command in commands:
        with subtests.test(" ".join(command)):
            done = run(*command, "--help")
            assert done.status == 0 and max(map(len, done.out.splitlines())) <= 80


def test_every_function_takes_the_parameters_of_its_row(subtests: pytest.Subtests) -> None:
    """Arguments of these types; options of a solve are not named."""
    for name, command in [*COMMANDS.items(), *LEDGER_COMMANDS.items()]:
        with subtests.test(name):
            function = command.load()
            kinds = {parameter: get_args(kind)[0] for parameter, kind in command.parameters.items()}
            taken = inspect.signature(function, eval_str=True).parameters
            named = {one.name: one.annotation for one in taken.values() if one.kind is one.KEYWORD_ONLY}
            assert named.items() <= kinds.items()
            others = {*kinds} - {*named}
            assert others <= {field.name for field in fields(Options)}
            assert bool(others) == any(one.kind is one.VAR_KEYWORD for one in taken.values())


def test_version_and_usage_errors(run: Any) -> None:
    assert run("--version").out == f"mmopt {mmopt.__version__}\n"
    for words in ("slve", "export", "solve a.yaml --tolerance x", "solve --no"):
        done = run(*words.split())
        assert (done.status, done.out) == (2, "")
        assert done.err.startswith("Usage: ")


def test_programs(run: Any) -> None:
    done = run("programs")
    assert (done.status, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    assert all(name in "".join(done.out.split()) for name in program_names())  # a long one may be folded


@pytest.mark.slow
def test_programs_by_solver_as_json(run: Any) -> None:
    found = json.loads(run("programs", "--solvers", "--json").out)
    assert sorted(found) == program_names()
    assert found["l2_strategy"]["kernels"] == ["nuclear", "sectors"]
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


def raises(error: BaseException) -> tuple[int, str]:
    """Exit status and message of a command that does."""

    def fails() -> None:
        raise error

    app = typer.Typer()
    app.command()(guarded(fails))
    result = CliRunner().invoke(app, [], catch_exceptions=False)
    return result.exit_code, result.stderr


def test_exceptions_become_messages(monkeypatch: pytest.MonkeyPatch) -> None:
    known = OptionError("[bold]no[/bold]", where=Location("f", 1, 3, "a b " + "c" * 90), hint="do")
    expected = "error: f:1:3: [bold]no[/bold]\n    a b " + "c" * 90 + "\n      ^\n  do\n"
    assert raises(known) == (2, expected)
    assert raises(KeyboardInterrupt()) == (130, "interrupted, nothing written\n")
    message = "error: not enough memory\n  'mmopt solve WORKLOAD --dry-run' says what a problem needs\n"
    assert raises(MemoryError()) == (2, message)
    assert raises(OSError(errno.EPIPE, "Broken pipe")) == (1, ""), "a reader that goes away is no bug"
    message = (
        "error: a bug in mmopt (ZeroDivisionError: by zero)\n"
        "  please report it with the command and its files; MMOPT_TRACEBACK=1 shows where it happened\n"
    )
    assert raises(ZeroDivisionError("by zero")) == (70, message)
    monkeypatch.setenv("MMOPT_TRACEBACK", "1")
    status, text = raises(ZeroDivisionError("by zero"))
    assert status == 70 and text.startswith("Traceback") and text.endswith(message)


SIXTEEN = "domain: {a: {range: [0, 16], width: 1}}\nworkload: [{product: {a: prefix}}]\n"


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_during_a_solve_gives_the_best_point_so_far(run: Any, files: Path) -> None:
    (files / "w.yaml").write_text(SIXTEEN, encoding="utf-8")
    done = run("solve", "w.yaml", "--solver", "clarabel", "--json")
    assert done.status == 130 and done.err.endswith("interrupted: this is the best certified point so far\n")
    found = json.loads(done.out)
    assert found["status"]["stop"] == "interrupted" and 0 < found["bound"] <= found["objective"]


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_writes_nothing(run: Any, files: Path, subtests: pytest.Subtests) -> None:
    for command in (
        ("release", "total.yaml", "people.csv", "--out", "r"),
        ("accuracy", "targets.yaml", "--out", "r"),
        ("budget", "targets.yaml", "--out", "r"),
    ):
        with subtests.test(command[0]):
            done = run(*command, "--solver", "clarabel")
            assert (done.status, done.out) == (130, "") and "interrupted, nothing written\n" in done.err
            assert not (files / "r").exists()


def test_the_watch_counts_ctrl_c_and_ends_what_does_not_end_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside native code nothing else would."""
    said: list[str] = []
    monkeypatch.setattr(app, "GRACE_SECONDS", 0.0)
    monkeypatch.setattr(os, "_exit", sys.exit)

    def watched(*presses: int, end: float) -> object:
        said.clear()
        watch = app.Watch(end)
        inlet, outlet = socket.socketpair()
        monkeypatch.setattr(app, "note", lambda text: (said.append(text), setattr(watch, "end", 0.0)))
        with inlet, outlet, pytest.raises(SystemExit) as ended:
            outlet.send(bytes(presses))
            watch._watch(inlet, outlet)
        return ended.value.code

    limit = "error: stopped at the time limit, without a result\n  allow more time, or ask for less"
    assert (watched(end=0.0), said) == (command_output.MISTAKE, [limit])
    assert watched(signal.SIGINT, end=math.inf) == command_output.MISTAKE
    assert said == ["interrupted: ending with what there is; Ctrl-C again ends at once", limit]
    assert watched(signal.SIGINT, signal.SIGINT, end=math.inf) == command_output.INTERRUPTED
    assert said == ["interrupted, nothing written"]
    monkeypatch.setattr(app, "TERM_SECONDS", 0.0)  # what does not end by itself is ended
    assert watched(signal.SIGTERM, signal.SIGINT, end=math.inf) == command_output.TERMINATED
    assert said == ["interrupted, nothing written"]
    with last_words("it was charged"), last_words("so", "it was charged"):
        assert watched(signal.SIGINT, signal.SIGINT, end=math.inf) == command_output.INTERRUPTED
    assert said == ["interrupted\n  it was charged\n  so"]


@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_sigterm_is_heeded_where_ctrl_c_is_not() -> None:
    """Sends SIGTERM to a process that ignores Ctrl-C, as behind ``&`` in a script."""
    code = (
        "import os, signal, time, mmopt.cli.app as app\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "app.WATCH.begin()\n"
        "try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(600)\n"
        "except KeyboardInterrupt: os._exit(3)\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 3


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
def test_a_process_of_its_own_is_watched(files: Path) -> None:
    """Two get Ctrl-C, or SIGTERM, when their solver has the problem; the third one sleeps for ever."""
    (files / "w.yaml").write_text(SIXTEEN, encoding="utf-8")
    pressed = (
        "import os, signal\n"
        "from mmopt.solvers import Clock\n"
        "hand_over = Clock.hand_over\n"
        "def handed_over(self, words):\n"
        "    hand_over(self, words); os.kill(os.getpid(), signal.SIGINT)\n"
        "Clock.hand_over = handed_over\n"
    )
    asleep = (
        "import contextlib, sys, time, mmopt.cli.app, mmopt.cli.commands.strategies_and_reports\n"
        "mmopt.cli.app.deadline = lambda limit: contextlib.nullcontext()\n"
        "sys.modules['mmopt.cli.commands.strategies_and_reports'].run_solve = lambda *a: time.sleep(600)\n"
    )
    best, killed = "this is the best certified point so far\n", pressed.replace("SIGINT", "SIGTERM")
    for code, options, status, message in (
        (pressed, ("--solver", "clarabel", "--json"), 130, best),
        (killed, ("--solver", "clarabel", "--json"), 143, best),
        (asleep, ("--time-limit", "0.1"), 2, "error: stopped at the time limit, without a result\n"),
    ):
        command = [sys.executable, "-c", f"{code}from mmopt.cli import main\nmain()\n", "solve", "w.yaml"]
        done = subprocess.run([*command, *options], capture_output=True, text=True, preexec_fn=heed_ctrl_c)
        assert done.returncode == status and message in done.stderr


def test_a_warning_is_a_note_without_a_place_in_the_code(capsys: pytest.CaptureFixture[str]) -> None:
    @guarded
    def command() -> None:
        warnings.simplefilter("always")
        np.array([1e308]) * 10  # numpy's own
        warnings.warn("near the range of doubles", stacklevel=1)

    command()
    said = capsys.readouterr().err.splitlines()
    assert said == ["note: overflow encountered in multiply", "note: near the range of doubles"]
