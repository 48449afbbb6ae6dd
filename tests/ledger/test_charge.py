"""One release: what refuses it, what it spends, and what is said when it fails afterwards.

Guards privacy_ledger.py.
"""

import hashlib
import math
import sqlite3
from contextlib import closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from mmopt.errors import LedgerError, OptionError, PrivacyError
from mmopt.ledger import Bill, Charge, Ledger, ledger_file
from mmopt.ledger.account import Account

HASH = "ab" * 32


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return Ledger.create(tmp_path / "people.ledger", "people", rho=0.5, partition="region").path


def spent(file: Path, rho: float, part: str | None = None) -> Charge:
    return Bill.to(file, "people", part).spend("add-remove", rho, None, "w.yaml", HASH)


def test_a_charge_is_entered_and_confirmed(file: Path) -> None:
    charge = spent(file, 0.125, "north")
    assert charge.section() == {
        "data_set": "people",
        "entry": 1,
        "measure": "rho",
        "part": {"column": "region", "value": "north"},
        "spent": 0.125,
        "total": 0.5,
        "left": 0.375,
    }
    assert spent(file, 0.25).section() == {
        "data_set": "people",
        "entry": 2,
        "measure": "rho",
        "spent": 0.25,
        "total": 0.5,
        "left": 0.125,
    }
    charge.confirm(Path("out"), b"manifest")
    first, second = Ledger.load(file).account.entries
    assert (first.state, first.folder, first.part) == ("released", "out", "north")
    assert first.manifest_hash == hashlib.sha256(b"manifest").hexdigest()
    assert (second.state, second.part, second.workload, second.workload_hash) == (
        *("spent", None, "w.yaml", HASH),
    )


@pytest.mark.quick
def test_the_whole_total_can_be_spent_and_no_more(file: Path) -> None:
    spent(file, 0.25)
    bills = {part: Bill.to(file, "people", part) for part in (None, "north")}
    spent(file, 0.25, "north")
    spent(file, 0.25, "south")
    before = file.read_bytes()
    for part, where in ((None, ""), ("north", " for the part 'north'")):
        bill = bills[part]
        with pytest.raises(PrivacyError, match=f"^nothing is left of rho 0.5{where} in"):
            Bill.to(file, "people", part)
        for call in (
            lambda bill=bill: bill.check("add-remove", 5e-324, None),
            lambda bill=bill: bill.spend("add-remove", 5e-324, None, "w.yaml", HASH),
        ):
            with pytest.raises(PrivacyError) as caught:
                call()
            assert str(caught.value) == (
                f"the release costs rho 4.94066e-324, and nothing is left of rho 0.5{where} in '{file}'\n"
                "  nothing was spent and no row was released; no useful release of these rows is possible "
                "any more: 'mmopt ledger show' lists what was spent on what"
            )
    assert file.read_bytes() == before
    spent(file, 0.25, "east")


@pytest.mark.quick
def test_more_than_is_left_is_refused_with_both(file: Path) -> None:
    spent(file, 0.375)
    with pytest.raises(PrivacyError):
        spent(file, math.nextafter(0.125, 1.0))
    with pytest.raises(PrivacyError) as caught:
        spent(file, 0.25)
    assert caught.value.message == (
        f"the release costs rho 0.25, and rho 0.125 is left of rho 0.5 in '{file}'"
    )
    # Noise that costs epsilon: half its square.
    charge = Bill.to(file, "people").spend("add-remove", None, 0.5, "w.yaml", HASH)
    assert charge.section()["spent"] == 0.125 and charge.section()["left"] == 0.0


def test_a_ledger_of_epsilon(tmp_path: Path) -> None:
    bill = Bill.to(Ledger.create(tmp_path / "e", "people", epsilon=1).path, "people")
    assert bill.spend("add-remove", None, 0.75, "", HASH).section()["left"] == 0.25
    with pytest.raises(PrivacyError) as caught:
        bill.check("add-remove", 0.01, 0.2)
    assert caught.value.message.startswith("the ledger counts pure epsilon, and this release has Gaussian")
    with pytest.raises(PrivacyError) as caught:
        bill.check("add-remove", None, 0.5)
    assert caught.value.message == (
        f"the release costs epsilon 0.5, and epsilon 0.25 is left of epsilon 1 in '{tmp_path / 'e'}'"
    )
    bill.spend("add-remove", None, math.nextafter(0.25, 0.0), "", HASH)
    with pytest.raises(PrivacyError, match="and nothing is left of epsilon 1"):
        bill.check("add-remove", None, 0.5)


@pytest.mark.quick
def test_another_data_set_and_another_unit_are_refused_with_both(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(LedgerError) as caught:
        Bill.to(file, "adults")
    assert str(caught.value) == (
        f"'{file}' is the ledger of the data set 'people', and this release is of 'adults'\n"
        "  name its own ledger; or, where the table is that data set under another name, say so: "
        "--data-set 'people' (data_set= in Python)"
    )
    with pytest.raises(LedgerError) as caught:
        Bill.to(file, "people").spend("rows 3", 0.1, None, "w.yaml", HASH)
    assert str(caught.value) == (
        f"'{file}' counts privacy of add-remove, and this release is private for rows 3\n"
        "  costs of different units do not add up: state the ledger's unit (neighbours: or unit: in the "
        "workload file), or keep a ledger for each: mmopt ledger create FILE --data-set people --rho TOTAL "
        "--neighbours 'rows 3'"
    )
    assert file.read_bytes() == before


def test_a_part_needs_a_partition(tmp_path: Path) -> None:
    path = Ledger.create(tmp_path / "l", "people", rho=1).path
    with pytest.raises(OptionError) as caught:
        Bill.to(path, "people", "north")
    assert str(caught.value) == (
        f"the part 'north' was requested, and '{path}' declares no partition\n"
        "  leave the part out; a partition is declared when a ledger is created: --partition"
    )


def test_a_ledger_that_is_replaced_meanwhile_is_noticed(file: Path) -> None:
    bill = Bill.to(file, "people", "north")
    file.unlink()
    Ledger.create(file, "people", rho=0.5)
    with pytest.raises(LedgerError) as caught:
        bill.check("add-remove", 0.1, None)
    assert caught.value.message == f"'{file}' was replaced meanwhile by a ledger of another partition"


@pytest.mark.quick
def test_a_ledger_of_another_measure_put_there_meanwhile_is_not_charged(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bill, spend = Bill.to(file, "people"), ledger_file.spend

    def replaced(path: Path, *more: Any) -> Account:
        path.unlink()
        Ledger.create(path, "people", epsilon=1.0, partition="region")
        return spend(path, *more)

    monkeypatch.setattr(ledger_file, "spend", replaced)
    with pytest.raises(LedgerError) as caught:
        bill.spend("add-remove", None, 0.1, "w.yaml", HASH)
    assert str(caught.value) == f"'{file}' was replaced meanwhile by a ledger of another measure"
    assert Ledger.load(file).spent == 0


def test_what_another_spends_meanwhile_counts(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between what is read first, before the file is locked, and the charge."""
    bill, spend = Bill.to(file, "people"), ledger_file.spend

    def second(path: Path, *more: Any) -> Account:
        monkeypatch.setattr(ledger_file, "spend", spend)
        spent(path, 0.375)
        return spend(path, *more)

    monkeypatch.setattr(ledger_file, "spend", second)
    with pytest.raises(PrivacyError) as caught:
        bill.spend("add-remove", 0.25, None, "w.yaml", HASH)
    assert caught.value.message == (
        f"the release costs rho 0.25, and rho 0.125 is left of rho 0.5 in '{file}'"
    )
    assert Ledger.load(file).spent == 0.375


@pytest.mark.quick
def test_a_manifest_rounds_what_is_spent_up_and_what_is_left_down(file: Path) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        connection.execute("UPDATE terms SET total = '1/3'")
    said = Bill.to(file, "people").spend("add-remove", None, 0.1, "w.yaml", HASH).section()
    cost, total = Fraction(0.1) ** 2 / 2, Fraction(1, 3)
    assert 0 < Fraction(said["spent"]) - cost < 1e-18
    assert 0 < total - Fraction(said["total"]) < 1e-16
    assert 0 < total - cost - Fraction(said["left"]) < 1e-16


def test_an_address_is_no_name_and_is_not_repeated(file: Path, subtests: pytest.Subtests) -> None:
    for name in [
        "postgresql://me:secret@host/people",
        "me:secret@host",
        "https://host/people.csv?key=secret",
    ]:
        with subtests.test(name):
            for names in ((name,), ("people", name)):
                with pytest.raises(OptionError) as caught:
                    Bill.to(file, *names)
                assert "secret" not in str(caught.value)
                assert (
                    "looks like the address of a database, which may hold a password" in caught.value.message
                )


def test_what_is_no_name_is_refused(file: Path, subtests: pytest.Subtests) -> None:
    for name, said in [
        ("", "the data set is '', expected a name of 1 to 200 characters in one line"),
        ("two\nlines", "the data set is 'two\\nlines', expected a name of 1 to 200 characters in one line"),
        (
            "x" * 201,
            f"the data set is '{'x' * 40}\\u2026', expected a name of 1 to 200 characters in one line",
        ),
        (3, "the data set is of type int, expected a text"),
    ]:
        with subtests.test(said):
            with pytest.raises(OptionError) as caught:
                Bill.to(file, name)
            assert caught.value.message == said


def test_a_folder_that_cannot_be_confirmed_is_complete_and_said_to_be(file: Path) -> None:
    charge = spent(file, 0.125)
    file.unlink()
    with pytest.raises(LedgerError) as caught:
        charge.confirm(Path("out"), b"")
    assert str(caught.value) == (
        f"the release is complete in 'out', and entry 1 of the ledger does not say so: there is no ledger "
        f"'{file}': No such file or directory\n"
        "  it counts as spent, and the folder is whole: 'mmopt show' reads it"
    )
