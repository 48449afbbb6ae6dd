"""``mmopt.Ledger``: created, listed, exported, explained."""

import csv
import itertools
import json
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path

import pytest

import mmopt
from mmopt import Ledger
from mmopt.errors import OptionError, PrivacyError
from mmopt.ledger import Bill


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A ledger of rho 1: 0.25 of the whole table, 0.125 of a part, 0.1 of another, which is confirmed."""
    path = Ledger.create(tmp_path / "people.ledger", "people", rho=1.0, partition="region").path
    for rho, part in ((0.25, None), (0.125, "north"), (0.1, "south")):
        charge = Bill.to(path, "people", part).spend("add-remove", rho, None, "w.yaml", "ab" * 32)
    charge.confirm(Path("out"), b"manifest")
    return path


def test_what_is_left_is_shown(file: Path) -> None:
    ledger = mmopt.Ledger.load(file)
    assert (ledger.total, ledger.spent, ledger.left) == (1.0, 0.375, 0.625)
    assert (ledger.left_for("north"), ledger.left_for("east")) == (0.625, 0.75)
    assert ledger.left_for("south") == 0.6499999999999999 < Fraction(3, 4) - Fraction(0.1)
    rows = dict(ledger.rows())
    created = rows.pop("created")
    assert created.endswith("+00:00")
    assert rows == {
        "data set": "people",
        "total": "rho 1 (rho, zero-concentrated)",
        "spent": "rho 0.375",
        "amounts to": "(epsilon, delta) = (4.44068, 1e-06), (5.52974, 1e-09)",
        "left": "rho 0.625",
        "neighbours": "add-remove: tables that differ by one row added or removed",
        "partition": "by 'region': the largest sum over its parts counts",
        "left for 'north'": "rho 0.625",
        "left for 'south'": "rho 0.649999",
        "left for other parts": "rho 0.75",
        "not confirmed": "1, 2: no folder is known; counted in full",
    }
    assert repr(ledger) == "Ledger('people', 3 entries, rho 0.375 spent of 1 when read)"
    assert "rho 0.375" in ledger._repr_html_() and "no folder was confirmed" in ledger._repr_html_()
    assert ledger.explain().startswith(
        "The ledger of the data set 'people' allows rho 1 in all; 0.375 is spent"
    )


def test_a_total_lowered_below_what_is_spent_is_shown_and_nothing_more_is_spent(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE terms SET total = '1/8'")
    ledger = Ledger.load(file)
    rows = dict(ledger.rows())
    assert rows["total"] == "rho 0.125, lowered since from 1 (rho, zero-concentrated)"
    assert rows["spent"] == "rho 0.375; MORE THAN THE TOTAL: nothing can be released"
    assert rows["left"] == rows["left for 'north'"] == "rho 0" and ledger.left == -0.25
    for part in (None, "east"):
        with pytest.raises(PrivacyError) as caught:
            Bill.to(file, "people", part).check("add-remove", 0.01, None)
        assert "nothing is left of rho 0.125" in str(caught.value)


def test_a_ledger_is_exported(file: Path, tmp_path: Path) -> None:
    ledger = Ledger.load(file)
    with open(ledger.export(tmp_path / "x.csv"), newline="", encoding="utf-8") as text:
        rows = list(csv.DictReader(text))
    assert [(row["entry"], row["part"], row["state"], row["folder"]) for row in rows] == [
        ("1", "", "spent", ""),
        ("2", "north", "spent", ""),
        ("3", "south", "released", "out"),
    ]
    assert [Fraction(row["exactly"]) for row in rows] == [Fraction(1, 4), Fraction(1, 8), Fraction(0.1)]
    found = json.loads(ledger.export(tmp_path / "x.json").read_text(encoding="utf-8"))
    assert found == ledger.summary() and found["entries"][2]["spent"] == 0.1
    assert (found["spent_exactly"], found["left"]) == ("3/8", 0.625)
    assert ledger.to_arrow().num_rows == 3


def test_a_ledger_is_exported_to_what_is_not_it(file: Path, tmp_path: Path) -> None:
    with pytest.raises(OptionError) as caught:
        Ledger.load(file).export(file)
    assert str(caught.value) == f"'{file}' is the ledger itself\n  name another file with --out"
    with pytest.raises(OptionError) as caught:
        Ledger.load(file).export(tmp_path / "x.xlsx")
    assert str(caught.value) == (
        f"'{tmp_path / 'x.xlsx'}' ends in '.xlsx', and a ledger is exported to .csv or .json\n"
        "  .csv has a line for each release, .json also what is declared and left"
    )


def test_a_total_that_is_none_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for more, said in [
        ({}, "the total is rho None and epsilon None, expected one of the two"),
        ({"rho": 1.0, "epsilon": 1.0}, "the total is rho 1.0 and epsilon 1.0, expected one of the two"),
        ({"rho": 0.0}, "the total rho is 0.0, expected a finite number above 0"),
        ({"epsilon": float("inf")}, "the total epsilon is inf, expected a finite number above 0"),
        ({"epsilon": float("nan")}, "the total epsilon is nan, expected a finite number above 0"),
        ({"rho": "1"}, "the total rho is '1', expected a finite number above 0"),
        ({"rho": True}, "the total rho is True, expected a finite number above 0"),
    ]:
        with subtests.test(said):
            with pytest.raises(PrivacyError) as caught:
                Ledger.create(tmp_path / "l", "people", **more)
            assert caught.value.message == said and list(tmp_path.iterdir()) == []


@pytest.mark.quick
def test_a_total_beyond_doubles_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for power in [309, 3000, 5000]:
        with subtests.test(str(power)):
            total = 10**power
            for more, said in (
                ({"rho": total}, f"rho is about 10^{power}, expected at most 1.8e+308, the largest double"),
                (
                    {"epsilon": total},
                    f"epsilon is about 10^{power}, expected at most 1.8e+308, the largest double",
                ),
                ({"rho": -total}, f"rho is about -10^{power}, expected a finite number above 0"),
            ):
                with pytest.raises(PrivacyError) as caught:
                    Ledger.create(tmp_path / "l", "people", **more)
                assert str(caught.value) == f"the total {said}"
            with pytest.raises(PrivacyError) as caught:
                Ledger.create(tmp_path / "l", "people", rho=total, epsilon=1)
            assert caught.value.message == (
                f"the total is rho about 10^{power} and epsilon 1, expected one of the two"
            )
            assert list(tmp_path.iterdir()) == []


def test_every_total_that_is_a_double_is_read_back_and_explained(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for total, measure in itertools.product([5e-324, 1.7976931348623157e308, 10**308], ["rho", "epsilon"]):
        with subtests.test(f"{measure}, {total:g}"):
            ledger = Ledger.create(tmp_path / f"{measure} {total:g}", "people", **{measure: total})
            assert (
                ledger.account.terms.total == Fraction(str(total))
                and ledger.total == ledger.left == float(total)
                and dict(ledger.rows())["spent"] == f"{measure} 0"
            )
            assert f"allows {measure} " in ledger.explain()


@pytest.mark.quick
def test_parts_compose_for_one_row_added_or_removed_alone(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for neighbours in ["replace-one", {"rows": 2}, {"rows": 1}]:
        with subtests.test(str(neighbours)):
            with pytest.raises(OptionError) as caught:
                Ledger.create(tmp_path / "l", "people", rho=1, neighbours=neighbours, partition="region")
            unit = neighbours if isinstance(neighbours, str) else f"rows {neighbours['rows']}"
            assert str(caught.value) == (
                f"the partition 'region' is declared for {unit}, and releases of parts compose in parallel "
                "for one row added or removed only\n"
                "  leave the partition out: the rows of a person may stand in several parts, and a replaced "
                "row may move to another"
            )
            path = tmp_path / unit
            ledger = Ledger.create(path, "people", rho=1, neighbours=neighbours)
            assert ledger.account.terms.neighbours == unit
            with pytest.raises(OptionError) as caught:
                ledger.left_for("north")
            assert str(caught.value) == f"'{path}' declares no partition, and so no part 'north'"


@pytest.mark.quick
def test_figures_in_doubles_are_on_the_safe_side(tmp_path: Path) -> None:
    """A cost and a total that no double is: what is spent is no less, what is left no more."""
    file = Ledger.create(tmp_path / "few.ledger", "people", rho=1.0, partition="region").path
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE terms SET total = '1/3'")
    Bill.to(file, "people", "north").spend("add-remove", None, 0.1, "w.yaml", "ab" * 32)
    ledger, cost, total = Ledger.load(file), Fraction(0.1) ** 2 / 2, Fraction(1, 3)
    said = ledger.summary()
    for amount in (ledger.spent, said["spent"], said["entries"][0]["spent"], *ledger.frame()["spent"]):
        assert 0 < Fraction(float(amount)) - cost < 1e-18
    for amount in (ledger.total, said["total"]):
        assert 0 < total - Fraction(amount) < 1e-16
    for amount in (ledger.left, said["left"], said["left_for_parts"]["north"], ledger.left_for("north")):
        assert 0 < total - cost - Fraction(amount) < 1e-16
