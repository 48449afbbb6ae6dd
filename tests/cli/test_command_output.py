"""The live display: on a terminal, after a while, and never in the way."""

import io
import os
import sys
import time
from dataclasses import replace

import pytest
from rich.console import Console

from mmopt.cli.command_output import Display, console, stdout_to_stderr
from mmopt.driver import Progress

POINT = Progress("l2_strategy", "clarabel", 1.5, 7, 12.5, 12.0)


def terminal() -> Console:
    return Console(file=io.StringIO(), force_terminal=True, width=100)


def written(console: Console) -> str:
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def test_display_shows_the_last_point() -> None:
    console = terminal()
    with Display("l2_strategy", console, delay=0.0) as display:
        assert display.line() == "l2_strategy: 0 s, no certified point yet"
        display(POINT)
        assert display.line() == (
            "l2_strategy, clarabel: 0 s, 7 iterations, gap 4.2e-02, objective 12.5 (Ctrl-C keeps it)"
        )
        for _ in range(100):
            if "7 iterations" in written(console):
                break
            time.sleep(0.05)
    assert "7 iterations" in written(console)


def test_display_without_a_bound() -> None:
    display = Display("p", terminal())
    display(Progress("p", "scs", 0.0, 1, 2.0, None))
    assert "1 iterations, no bound, objective 2 " in display.line()


def test_a_long_solve_is_announced(capsys: pytest.CaptureFixture[str]) -> None:
    """In the live line; where there is none, by a line of its own."""
    begun = replace(POINT, objective=float("nan"), bound=None, certified=False, predicted=1860.0)
    with Display("l2_strategy", terminal(), delay=60.0) as display:
        display(begun)
        assert display.line() == "l2_strategy: 0 s of about 31 min, no certified point yet"
        display(POINT)
        assert "7 iterations" in display.line()
    assert capsys.readouterr().err == ""
    with Display("l2_strategy", Console(file=io.StringIO())) as display:
        display(begun)
    assert capsys.readouterr().err == "l2_strategy, clarabel: predicted to take about 31 min\n"


def test_display_begins_anew() -> None:
    display = Display("first", terminal())
    display(POINT)
    display.begin("second (2 of 3)")
    assert display.line() == "second (2 of 3): 0 s, no certified point yet"
    display(replace(POINT, program="second"))
    assert display.line().startswith("second (2 of 3), clarabel: 0 s, 7 iterations, gap 4.2e-02, ")
    display(replace(POINT, program="its_step"))
    assert display.line().startswith("second (2 of 3), its_step, clarabel: 0 s, ")
    display.begin("baseline wavelet (1 of 3)", awaited="")
    assert display.line() == "baseline wavelet (1 of 3): 0 s"


def test_the_part_of_a_work_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    """In the live line; where there is none, the first by a line of its own."""
    for shown, expected in ((terminal(), ""), (Console(file=io.StringIO()), "counting: part 1 of 2\n")):
        with Display("counting", shown, delay=60.0, awaited="") as display:
            assert display.line() == "counting: 0 s"
            display.part("part 1 of 2")
            display.part("part 2 of 2")
            assert display.line() == "counting: 0 s, part 2 of 2"
        assert capsys.readouterr().err == expected


def test_each_point_has_its_line_where_that_is_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    display = Display("l2_strategy", terminal(), wanted=False, each=True)
    display(replace(POINT, certified=False, seconds=0.25))
    display(replace(POINT, bound=None, seconds=1.0))
    head = f"{POINT.program}: 0.25 s, iteration {POINT.iterations}, objective "
    first, second = capsys.readouterr().err.splitlines()
    assert first.startswith(head) and first.endswith(", gap 4.2e-02, by the count of clarabel")
    assert second.endswith(", no bound, certified")


def test_nothing_is_shown_of_a_quick_solve_off_a_terminal_or_when_not_wanted() -> None:
    for is_terminal, wanted, delay in ((True, True, 60.0), (True, False, 0.0), (False, True, 0.0)):
        console = Console(file=io.StringIO(), force_terminal=is_terminal)
        with Display("l2_strategy", console, wanted=wanted, delay=delay) as display:
            display(POINT)
            time.sleep(0.05)
        assert written(console) == ""


def test_what_libraries_print_goes_to_stderr(capfd: pytest.CaptureFixture[str]) -> None:
    with stdout_to_stderr():
        print("from python", flush=True)
        os.write(1, b"from a library\n")
    print("result")
    sys.stdout.flush()
    out, err = capfd.readouterr()
    assert out == "result\n" and sorted(err.splitlines()) == ["from a library", "from python"]


def test_only_what_someone_reads_on_a_terminal_has_escape_codes(monkeypatch: pytest.MonkeyPatch) -> None:
    for is_tty, environment, is_terminal in (
        (True, {}, True),
        (True, {"JPY_PARENT_PID": "1", "FORCE_COLOR": "1"}, False),
        (False, {"FORCE_COLOR": "1"}, False),
    ):
        for name in ("JPY_PARENT_PID", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
            monkeypatch.delenv(name, raising=False)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("TERM", "xterm-256color")
        for name in ("stdout", "stderr"):
            stream = io.StringIO()
            monkeypatch.setattr(stream, "isatty", lambda is_tty=is_tty: is_tty)
            monkeypatch.setattr(sys, name, stream)
            shown = console(stderr=name == "stderr")
            assert shown.is_terminal == is_terminal
            shown.print("words", style="bold")
            assert ("\x1b" in stream.getvalue()) == is_terminal
