"""``python -m mmopt.testing.conformance`` succeeds only where something was checked and holds.

Guards __main__.py.
"""

import sys

import pytest

from mmopt.testing.conformance.__main__ import main


def status(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    monkeypatch.setattr(sys, "argv", ["conformance", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    return ended.value.code


def test_a_solver_that_conforms(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--programs", "l2_strategy", "--problems", "prefix,signed", "--verbose")
    assert status(monkeypatch, "--solver", "clarabel", *chosen, "--tolerance", "1e-7") == 0
    said = capsys.readouterr()
    assert said.out.startswith("'clarabel' conforms: ")
    assert said.err == "l2_strategy on prefix\nl2_strategy on signed\n"


def test_nothing_checked_is_no_success(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert status(monkeypatch, "--solver", "qoco", "--programs", "l2_strategy", "--problems", "prefix") == 1
    assert capsys.readouterr().out.startswith("'qoco' was not checked: everything was skipped (1 solves")


def test_mistakes(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    for arguments, message in [
        (("--solver", "scss"), "error: there is no solver 'scss'\n  did you mean 'scs'?\n"),
        (("--problems", "prefxi"), "error: there is no problem 'prefxi'\n  did you mean 'prefix'?\n"),
        (("--problems", ","), "error: --problems is ',', expected names separated by commas\n"),
        (("--tolerance", "2"), "error: a tolerance lies between 0 and 1, not 2.0\n"),
        (
            ("--programs", "l2_strategy", "--problems", "prefix", "-n", "1"),
            "error: problem 'prefix' has at least 2 cells, not 1\n",
        ),
    ]:
        with subtests.test(message):
            assert status(monkeypatch, *arguments) == 2
            said = capsys.readouterr()
            assert (said.out, said.err) == ("", message)
