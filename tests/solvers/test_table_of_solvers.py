"""The table of solvers, the forecast, and the choice between them."""

import pytest

from mmopt import OptionError, SolverError, TooLargeError
from mmopt.compiler import Cone
from mmopt.solvers import (
    SOLVERS,
    Options,
    SolverRow,
    forecast,
    missing_cones,
    quickest,
    refuse_too_large,
    solver_row,
)

PSD = Cone("psd", 32, 1, "objective")


def row(name: str) -> SolverRow:
    return solver_row(name)


def test_names_are_found_in_any_case() -> None:
    assert [row(r.name.upper()) for r in SOLVERS] == list(SOLVERS)
    assert all(r.is_installed and r.version for r in SOLVERS)


def test_unknown_name() -> None:
    with pytest.raises(OptionError) as error:
        solver_row("clarbel")
    assert str(error.value) == "there is no solver 'clarbel'\n  did you mean 'clarabel'?"


def test_solver_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(SolverError) as error:
        solver_row("qoco")
    assert str(error.value) == "the solver 'qoco' is not installed\n  pip install qoco"


def test_missing_cones() -> None:
    both = [PSD, Cone("second-order", 3, 5, "inverse")]
    assert missing_cones(row("clarabel"), both) == []
    assert missing_cones(row("qoco"), both) == ["psd"]
    assert missing_cones(row("sdpa"), both) == ["second-order"]


def test_forecast_grows_with_size_and_number(subtests: pytest.Subtests) -> None:
    for name in ["clarabel", "scs"]:
        with subtests.test(name):
            small, large, many = ([Cone("psd", s, c, "x")] for s, c in ((20, 1), (40, 1), (20, 8)))
            first = forecast(row(name), small, 100)
            for more in (large, many):
                then = forecast(row(name), more, 100)
                assert then.memory > first.memory
                assert then.seconds > first.seconds


def test_blocks_that_share_their_variables_need_memory() -> None:
    """l2_strategy_lmi over 20 cells held 309 MB; one block holds little, and so do many small ones."""
    family, one = [Cone("psd", 21, 20, "lmi")], [Cone("psd", 21, 1, "block")]
    assert 309e6 <= forecast(row("clarabel"), family, 230).memory <= 400e6
    assert forecast(row("clarabel"), one, 230).memory <= 160e6
    assert forecast(row("clarabel"), [Cone("psd", 2, 10_000, "pairs")], 230).memory <= 300e6


def test_rows_that_are_filled_need_memory() -> None:
    few = [PSD, Cone("nonnegative", 1, 2048, "accuracy", filled=528)]
    many = [PSD, Cone("nonnegative", 1, 2048, "accuracy", filled=5280)]
    assert forecast(row("scs"), many, 528).memory > forecast(row("scs"), few, 528).memory + 9 * 2048 * 528 * 8


def test_choice_by_size() -> None:
    rows = [row("clarabel"), row("scs")]
    assert quickest(rows, [PSD], 500).name == "clarabel"
    assert quickest(rows, [Cone("psd", 400, 1, "objective")], 40_000).name == "scs"


def test_too_large_names_the_size_and_the_limit() -> None:
    cones = [Cone("psd", 2000, 1, "objective"), Cone("nonnegative", 1, 1000, "sensitivity")]
    refuse_too_large("p", row("scs"), cones, 10)
    with pytest.raises(TooLargeError) as error:
        refuse_too_large("p", row("clarabel"), cones, 10)
    text = str(error.value)
    assert text.startswith("'p' with clarabel would need about ")
    assert "GiB of memory; the limit here is " in text
    assert text.endswith(
        "it has 1 psd cone of size 2000 (from 'objective'); use a first-order solver (scs), "
        "another formulation of the same problem, fewer cells"
    )


def test_options_out_of_range(subtests: pytest.Subtests) -> None:
    for options, text in [
        ({"tolerance": 0.0}, "a tolerance lies between 0 and 1, not 0.0"),
        ({"tolerance": 1.0}, "a tolerance lies between 0 and 1, not 1.0"),
        ({"tolerance": float("nan")}, "a tolerance lies between 0 and 1, not nan"),
        ({"time_limit": 0.0}, "a time limit is a positive number of seconds, not 0.0"),
        ({"max_iterations": 0}, "'max_iterations' is at least 1, not 0"),
        ({"threads": -1}, "'threads' is at least 1, not -1"),
    ]:
        with subtests.test(options=options):
            with pytest.raises(OptionError) as error:
                Options(**options)  # type: ignore[arg-type]
            assert str(error.value) == text
