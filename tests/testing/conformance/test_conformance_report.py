"""The report of a conformance check says what holds, what does not and what was not checked.

Guards checks_and_report.py.
"""

from mmopt.testing import Failure, Report, Skip
from mmopt.testing.conformance.checks_and_report import NOTES_SHOWN, PLACES_SHOWN


def test_everything_in_words() -> None:
    failure = Failure(
        "p", "prefix, cells in another order", "metamorphic", "optimum", "in [1, 2]", "in [3, 4]"
    )
    skips = tuple(Skip("p", f"w{i}", "known", "nothing is known") for i in range(PLACES_SHOWN + 1))
    other = Skip("q", "", "solved", "a search")
    report = Report("it", 5, 7, {"file": 3, "gap": 2}, (failure,), (*skips, other), ("one",))
    assert not report.holds
    assert str(report) == (
        "'it' does not conform: failures 1, 5 checks hold (7 solves, 8 skips, seed 5)\n"
        "  file: 3\n"
        "  gap: 2\n"
        "failures (1)\n"
        "  p on prefix, cells in another order, metamorphic: optimum: expected in [1, 2], found in [3, 4]\n"
        "skipped (2)\n"
        "  known, 7: nothing is known (p on w0, p on w1, p on w2, p on w3, p on w4, p on w5, …)\n"
        "  solved, 1: a search (q)\n"
        "gap not reached, and said so (1)\n"
        "  one"
    )


def test_what_holds_and_what_was_not_checked() -> None:
    good = Report("it", 0, 1, {"file": 1}, (), (), ())
    assert good.holds and str(good) == "'it' conforms: 1 checks hold (1 solves, 0 skips, seed 0)\n  file: 1"
    nothing = Report("it", 0, 0, {}, (), (Skip("p", "w", "solved", "no"),), ())
    assert not nothing.holds
    assert str(nothing).startswith(
        "'it' was not checked: everything was skipped (0 solves, 1 skips, seed 0)\n"
    )


def test_long_lists_of_notes_are_cut() -> None:
    notes = tuple(f"note {i}" for i in range(NOTES_SHOWN + 1))
    lines = str(Report("it", 0, 1, {"file": 1}, (), (), notes)).splitlines()
    assert lines[-2:] == [f"  note {NOTES_SHOWN - 1}", "  …"]
    assert str(Report("it", 0, 1, {"file": 1}, (), (), notes[:-1])).endswith(f"note {NOTES_SHOWN - 1}")
