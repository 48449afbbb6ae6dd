"""The shell is told the names of commands, programs, solvers and baselines, and leaves files to itself.

Guards command_options.py.
"""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_line import commands

from mmopt.cli.command_options import baseline_words, listed, program_words, solver_words
from mmopt.language import program_names
from mmopt.solvers import CONIC, KERNELS, SOLVERS
from mmopt.strategies.baselines import baseline_names


def test_names_that_begin_so() -> None:
    assert program_words("") == sorted(program_names())
    assert program_words("gamma_") == ["gamma_2", "gamma_f"]
    assert set(solver_words("")) == {CONIC, *(row.name for row in (*KERNELS, *SOLVERS))}
    assert {name.partition("(")[0] for name in baseline_names()} <= set(baseline_words(""))
    assert baseline_words("haa") == ["haar"]
    assert program_words("./own.program") == solver_words("own:solve") == []  # files are for the shell
    last = listed(program_words)
    assert last("gamma_") == ["gamma_2", "gamma_f"]
    assert last("gamma_f,gamma_") == ["gamma_f,gamma_2"]


def test_words_that_complete_the_last(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Completions are asked for as bash does it."""
    monkeypatch.setenv("_MMOPT_COMPLETE", "complete_bash")
    for words, expected in (
        ("ver", ["verify"]),
        ("solve a.yaml --program l2_strategy_d", ["l2_strategy_dual"]),
        ("explain a_opt", ["a_optimal_design"]),
        ("solve a.yaml --solver clar", ["clarabel"]),
        ("compare a.yaml --baseline haa", ["haar"]),
        ("solve a.ya", []),  # none, so that the shell completes files
    ):
        monkeypatch.setenv("COMP_WORDS", f"mmopt {words}")
        monkeypatch.setenv("COMP_CWORD", str(len(words.split())))
        with pytest.raises(SystemExit):
            commands().main(prog_name="mmopt")
        assert capsys.readouterr().out.split() == expected


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_completes(tmp_path: Path) -> None:
    """By the function that --show-completion prints."""
    script = (
        f"cat > run <<'E'\n#!/bin/sh\nexec {sys.executable} -m mmopt \"$@\"\nE\nchmod +x run\n"
        'eval "$(_MMOPT_COMPLETE=source_bash ./run)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
        "_mmopt_completion ./run; printf '%s\\n' \"${COMPREPLY[@]}\""
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", "mmopt", "explain", "a_opt"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "") and done.stdout.split() == ["a_optimal_design"]
