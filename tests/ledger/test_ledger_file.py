"""The file: what is read is what was spent, and what was damaged is refused.

Guards account.py, ledger_file.py.
"""

import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from mmopt.errors import LedgerError, PrivacyError
from mmopt.ledger import ledger_file
from mmopt.ledger.account import Account, Entry, Terms, left, spent
from tests.ledger.first_format import made_before

TERMS = Terms("people", "rho", Fraction(1), "add-remove", None, Fraction(1), "2026-01-01T00:00:00+00:00")
ENTRY = Entry(0, "", Fraction(0.1), "w.yaml", "ab" * 32, None)
WHOLE = "\n  put back a copy of it that is whole; releases made since count too"


def all_right(_: Account) -> None:
    """Nothing is refused."""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """One with two entries, the first of which has its folder."""
    path = tmp_path / "people.ledger"
    ledger_file.create(path, TERMS)
    first = ledger_file.spend(path, ENTRY, all_right).entries[0]
    ledger_file.spend(path, replace(ENTRY, spent=Fraction(1, 3), part="a"), all_right)
    ledger_file.confirm(path, first, "out", "cd" * 32)
    return path


def edited(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def refusal(path: Path) -> str:
    """The error of reading, which spending and confirming have too; all leave the file as it is."""
    before = path.read_bytes() if path.is_file() else b""
    with pytest.raises(LedgerError) as caught:
        ledger_file.read(path)
    for call in (
        lambda: ledger_file.spend(path, ENTRY, all_right),
        lambda: ledger_file.confirm(path, replace(ENTRY, number=1), "out", ""),
    ):
        with pytest.raises(LedgerError) as again:
            call()
        assert str(again.value) == str(caught.value)
    assert (path.read_bytes() if path.is_file() else b"") == before
    return str(caught.value)


def test_what_is_read_is_what_was_written(ledger: Path) -> None:
    account = ledger_file.read(ledger)
    assert account.terms == TERMS
    first, second = account.entries
    assert (first.number, first.spent, first.workload, first.part) == (1, Fraction(0.1), "w.yaml", None)
    assert (first.state, first.folder, first.manifest_hash) == ("released", "out", "cd" * 32)
    assert (second.number, second.spent, second.part, second.state) == (2, Fraction(1, 3), "a", "spent")
    assert second.folder == "" and first.time.endswith("+00:00")
    assert sorted(os.listdir(ledger.parent)) == ["people.ledger"]  # no journal, no half file


def test_an_entry_keeps_its_first_folder(ledger: Path) -> None:
    first = ledger_file.read(ledger).entries[0]
    ledger_file.confirm(ledger, first, "elsewhere", "ef" * 32)
    assert ledger_file.read(ledger).entries[0] == first


def test_what_is_refused_is_not_spent(ledger: Path) -> None:
    before = ledger.read_bytes()

    def refuse(account: Account) -> None:
        assert len(account.entries) == 2
        raise PrivacyError("too much")

    with pytest.raises(PrivacyError):
        ledger_file.spend(ledger, ENTRY, refuse)
    assert ledger.read_bytes() == before


def test_what_exists_is_not_replaced(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for kind in ["ledger", "folder", "dangling link"]:
        with subtests.test(kind):
            parent = tmp_path / kind
            path = parent / "people.ledger"
            parent.mkdir()
            if kind == "ledger":
                ledger_file.create(path, TERMS)
            elif kind == "folder":
                path.mkdir()
            else:
                path.symlink_to(tmp_path / "nowhere")
            with pytest.raises(LedgerError) as caught:
                ledger_file.create(path, TERMS)
            assert str(caught.value) == (
                f"'{path}' exists already; a ledger is written to a new file\n"
                "  what was spent from a ledger stays spent: choose another name for another data set"
            )
            assert os.listdir(parent) == ["people.ledger"]


def test_a_ledger_has_one_name_and_no_journal_of_another(tmp_path: Path, ledger: Path) -> None:
    """A killed process leaves a journal that is found by the file's name, and undoes what came after it."""
    (tmp_path / "new.ledger-journal").write_bytes(b"left")
    with pytest.raises(LedgerError) as caught:
        ledger_file.create(tmp_path / "new.ledger", TERMS)
    new = tmp_path / "new.ledger"
    assert caught.value.message == (
        f"'{new}-journal' was left by an interrupted process; SQLite would apply it to a new ledger '{new}'"
    )
    other = tmp_path / "other.ledger"
    other.hardlink_to(ledger)
    for name in (ledger, other):
        with pytest.raises(LedgerError, match=r"has 2 names \(hard links\)"):
            ledger_file.spend(name, ENTRY, all_right)
    before = ledger_file.read(ledger).entries
    other.unlink()
    assert ledger_file.spend(ledger, ENTRY, all_right).entries[:-1] == before


@pytest.mark.quick
def test_an_amount_that_is_not_read_back_is_not_stored(
    tmp_path: Path, ledger: Path, subtests: pytest.Subtests
) -> None:
    for amount in [Fraction(10**2000), Fraction(1, 10**5000), 2 + Fraction(1, 10**2000)]:
        with subtests.test(f"{amount.numerator.bit_length()}, {amount.denominator.bit_length()} bits"):
            power = 5000 if amount.denominator > 10**2000 else 2000
            message = (
                f"an amount cannot be stored whose fraction has a number of about 10^{power}; a ledger holds "
                "fractions of numbers of at most 2,000 digits"
            )
            before = ledger.read_bytes()
            for changed in ({"total": amount, "declared": amount}, {"total": amount}):
                with pytest.raises(LedgerError) as caught:
                    ledger_file.create(tmp_path / "new.ledger", replace(TERMS, **changed))
                assert str(caught.value) == message
            with pytest.raises(LedgerError) as caught:
                ledger_file.spend(ledger, replace(ENTRY, spent=amount), all_right)
            assert str(caught.value) == message and ledger.read_bytes() == before
            assert os.listdir(tmp_path) == ["people.ledger"]
    kept = Fraction(10**2000 - 1, 10**1999)
    ledger_file.create(tmp_path / "new.ledger", replace(TERMS, total=kept, declared=kept))
    assert ledger_file.read(tmp_path / "new.ledger").terms.total == kept


def test_of_two_that_create_one_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "people.ledger"
    link = os.link

    def second(source: Path, target: Path) -> None:
        monkeypatch.setattr(os, "link", link)
        ledger_file.create(path, replace(TERMS, data_set="theirs"))
        link(source, target)

    monkeypatch.setattr(os, "link", second)
    with pytest.raises(LedgerError) as caught:
        ledger_file.create(path, TERMS)
    assert str(caught.value) == f"'{path}' was made meanwhile by another process; it is left as it is"
    assert ledger_file.read(path).terms.data_set == "theirs" and os.listdir(tmp_path) == ["people.ledger"]


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "no" / "people.ledger"
    with pytest.raises(LedgerError) as caught:
        ledger_file.create(path, TERMS)
    assert str(caught.value) == (
        f"cannot create '{path}': unable to open database file\n"
        "  its parent must be a folder that you may write to"
    )


def test_what_is_no_ledger_is_named(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    hint = "\n  mmopt ledger create FILE --data-set NAME --rho R [--neighbours UNIT]"
    assert refusal(path) == f"there is no ledger '{path}': No such file or directory{hint}"
    assert refusal(tmp_path) == f"'{tmp_path}' is a folder, and a ledger is one file"
    path.write_bytes(b"")
    assert refusal(path) == f"'{path}' is empty (0 bytes), and so no ledger{WHOLE}"
    path.write_text("sex,age\nF,30\n" * 100)
    assert refusal(path) == f"'{path}' is not a ledger: it is not an SQLite database"
    path.unlink()
    edited(path, "CREATE TABLE people (sex TEXT)")
    assert refusal(path) == f"'{path}' is not a ledger: it is an SQLite database of something else"
    os.mkfifo(tmp_path / "pipe")
    assert refusal(tmp_path / "pipe") == f"'{tmp_path / 'pipe'}' is no regular file, and a ledger is one file"


def test_another_format_is_named(ledger: Path) -> None:
    edited(ledger, "PRAGMA user_version = 3")
    assert refusal(ledger) == (
        f"'{ledger}' is a ledger of format 3, this version reads formats 1 and 2\n"
        "  use the version of mmopt that wrote it, or a later one"
    )


@pytest.mark.quick
def test_what_was_changed_is_refused(ledger: Path, subtests: pytest.Subtests) -> None:
    whole = ledger.read_bytes()
    for statement, what in [
        ("UPDATE entries SET spent = '0' WHERE number = 1", "entry 1 is missing or was changed"),
        ("UPDATE entries SET part = NULL WHERE number = 2", "entry 2 is missing or was changed"),
        ("UPDATE entries SET state = 'released' WHERE number = 2", "entry 2 is missing or was changed"),
        ("UPDATE entries SET folder = x'00' WHERE number = 1", "entry 1 is missing or was changed"),
        ("DELETE FROM entries WHERE number = 1", "entry 1 is missing or was changed"),
        ("UPDATE entries SET number = 5 WHERE number = 2", "entry 2 is missing or was changed"),
        ("UPDATE terms SET neighbours = 'replace-one'", "what it declares was changed"),
        ("UPDATE terms SET declared = '2'", "what it declares was changed"),
        ("UPDATE terms SET total = '0.5'", "a cost in it is no fraction"),
        ("UPDATE terms SET total = '1/0'", "a cost in it is no fraction"),
        # A column of text would make a text of 1, which is a fraction.
        ("UPDATE terms SET total = x'31'", "a cost in it is no fraction"),
        ("DELETE FROM terms", "it declares no total"),
        ("DROP TABLE terms", "(SQLITE_ERROR)"),
    ]:
        with subtests.test(statement):
            ledger.write_bytes(whole)
            edited(ledger, statement)
            colon = "" if what.startswith("(") else ":"
            assert refusal(ledger) == f"'{ledger}' is damaged{colon} {what}{WHOLE}"


@pytest.mark.quick
def test_a_total_may_be_lowered_and_not_raised(ledger: Path) -> None:
    edited(ledger, "UPDATE terms SET total = '1/4'")
    account = ledger_file.read(ledger)
    assert (account.terms.total, account.terms.declared) == (Fraction(1, 4), 1)
    edited(ledger, "UPDATE terms SET total = '5/4'")
    assert refusal(ledger) == (
        f"the total of '{ledger}' was raised since its creation, from 1 to 5/4\n"
        "  a total may be lowered; for a larger one every release would have to be forgotten"
    )


def test_zeros_and_lost_ends_are_refused_or_change_nothing(ledger: Path, rng: np.random.Generator) -> None:
    """Never another account: what is damaged in a place that is not read may stay unnoticed."""
    account, whole = ledger_file.read(ledger), ledger.read_bytes()
    for draw in range(40):
        data = bytearray(whole)
        if draw % 2:
            data = data[: int(rng.integers(1, len(data)))]
        else:
            start, length = int(rng.integers(len(data))), int(rng.choice([1, 8, 512, 4096]))
            data[start : start + length] = bytes(len(data[start : start + length]))
        ledger.write_bytes(data)
        try:
            found = ledger_file.read(ledger)
        except LedgerError as error:
            assert str(ledger) in str(error)
            with pytest.raises(LedgerError):
                ledger_file.spend(ledger, ENTRY, all_right)
            assert ledger.read_bytes() == data
        else:
            # The total alone has no checksum: it is a text of one digit here.
            assert found == account


def test_bytes_of_what_is_held_are_checked(ledger: Path, rng: np.random.Generator) -> None:
    """A byte of a cost, a name or a hash, which SQLite's own check does not see."""
    whole = ledger.read_bytes()
    for _ in range(10):
        data = bytearray(whole)
        places = [data.index(text) + i for text in (b"w.yaml", b"abab", b"1/3", b"people") for i in range(3)]
        place = int(rng.choice(places))
        data[place] ^= int(rng.integers(1, 16))
        ledger.write_bytes(data)
        with pytest.raises(LedgerError) as caught:
            ledger_file.read(ledger)
        assert f"'{ledger}' is damaged: " in str(caught.value)


@pytest.mark.quick
def test_a_ledger_that_is_held_is_waited_for_and_named(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.05)
    message = (
        f"'{ledger}' was held by another process for 0.05 seconds\n"
        "  nothing was spent; try again when that is done"
    )
    with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert refusal(ledger) == message
        other.execute("ROLLBACK")
        other.execute("BEGIN IMMEDIATE")  # what others hold while they spend: it can be read meanwhile
        assert len(ledger_file.read(ledger).entries) == 2
        seen: list[Account] = []
        with pytest.raises(LedgerError) as caught:
            ledger_file.spend(ledger, ENTRY, seen.append)
        assert str(caught.value) == message and seen == []  # what is left is looked at by one at a time
    assert len(ledger_file.read(ledger).entries) == 2


def test_a_reader_is_waited_for_at_the_end(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_file, "BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(ledger, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM terms").fetchall()
        with pytest.raises(LedgerError) as caught:
            ledger_file.spend(ledger, ENTRY, all_right)
        assert str(caught.value) == (
            f"'{ledger}' was held by another process for 0.05 seconds, at the end of a transaction\n"
            "  nothing was released; 'mmopt ledger show' says what is spent"
        )
    assert len(ledger_file.read(ledger).entries) == 2


@pytest.mark.quick
def test_what_is_spent_is_on_disk_before_a_call_returns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every connection waits for the disk, that of the folder with the journal too (3 is EXTRA)."""
    waits: list[int] = []

    class Watched(sqlite3.Connection):
        def close(self) -> None:
            waits.append(self.execute("PRAGMA synchronous").fetchone()[0])
            super().close()

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda address, **more: connect(address, factory=Watched, **more))
    ledger_file.create(tmp_path / "new.ledger", TERMS)
    spent = ledger_file.spend(tmp_path / "new.ledger", ENTRY, all_right).entries[0]
    ledger_file.confirm(tmp_path / "new.ledger", spent, "out", "")
    assert waits == [3, 3, 3]


def test_a_ledger_that_may_not_be_written_can_be_read(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opened as one is whose file is read-only: whoever runs the tests may write all files."""
    connect = sqlite3.connect
    monkeypatch.setattr(
        sqlite3, "connect", lambda address, **more: connect(address.replace("mode=rw", "mode=ro"), **more)
    )
    assert len(ledger_file.read(ledger).entries) == 2
    for call in (
        lambda: ledger_file.spend(ledger, ENTRY, all_right),
        lambda: ledger_file.confirm(ledger, ledger_file.read(ledger).entries[1], "out", ""),
    ):
        with pytest.raises(LedgerError) as caught:
            call()
        assert str(caught.value) == (
            f"'{ledger}' may not be written (SQLITE_READONLY)\n"
            "  nothing was spent; a ledger and its folder must be yours to write"
        )


@pytest.mark.quick
def test_an_entry_of_another_ledger_is_not_confirmed(ledger: Path) -> None:
    entry = replace(ledger_file.read(ledger).entries[1], spent=Fraction(2, 3))
    with pytest.raises(LedgerError) as caught:
        ledger_file.confirm(ledger, entry, "out", "")
    assert str(caught.value) == f"'{ledger}' has no entry 2 of {entry.time}; was it replaced?"
    with pytest.raises(LedgerError):
        ledger_file.confirm(ledger, replace(entry, number=3), "out", "")
    with pytest.raises(LedgerError):
        ledger_file.confirm(ledger, replace(entry, spent=Fraction(1, 3), time=TERMS.created), "out", "")


def test_a_link_is_followed(ledger: Path) -> None:
    link = ledger.parent / "link"
    link.symlink_to(ledger)
    ledger_file.spend(link, ENTRY, all_right)
    assert len(ledger_file.read(ledger).entries) == 3


@pytest.mark.quick
def test_entries_that_were_taken_away_are_missed(ledger: Path, subtests: pytest.Subtests) -> None:
    """Whatever else is changed with them that no checksum has to be computed for."""
    edited(ledger, "DELETE FROM entries WHERE number = 2")
    assert refusal(ledger) == f"'{ledger}' is damaged: it has 1 entries of 2{WHOLE}"
    edited(ledger, "UPDATE terms SET entries = 1")
    taken = f"'{ledger}' is damaged: entries after its last were taken away{WHOLE}"
    assert refusal(ledger) == taken
    edited(ledger, "UPDATE terms SET seal = (SELECT checksum FROM entries)")
    assert refusal(ledger) == taken
    edited(ledger, "DELETE FROM entries", "UPDATE terms SET entries = 0, seal = checksum")
    assert refusal(ledger) == taken
    edited(ledger, "ALTER TABLE terms DROP COLUMN seal", "PRAGMA user_version = 1")
    assert refusal(ledger) == f"'{ledger}' is damaged: what it declares was changed{WHOLE}"


def test_an_entry_covers_those_before_it(ledger: Path, tmp_path: Path, subtests: pytest.Subtests) -> None:
    """One that is whole by itself is refused at another place, and in another ledger."""
    other = tmp_path / "other.ledger"
    ledger_file.create(other, replace(TERMS, created="2026-01-02T00:00:00+00:00"))
    for _ in range(2):
        ledger_file.spend(other, ENTRY, all_right)
    whole = ledger.read_bytes()
    for number in (1, 2):
        with subtests.test(str(number)):
            ledger.write_bytes(whole)
            edited(
                ledger,
                f"ATTACH '{other}' AS other",
                f"REPLACE INTO entries SELECT * FROM other.entries WHERE number = {number}",
            )
            assert (
                refusal(ledger) == f"'{ledger}' is damaged: entry {number} is missing or was changed{WHOLE}"
            )


def content(path: Path) -> tuple[int, list[object]]:
    """The format, and what was spent on what."""
    with closing(sqlite3.connect(path)) as connection:
        (version,) = connection.execute("PRAGMA user_version").fetchone()
        rows = connection.execute("SELECT number, time, spent, workload, workload_hash, part FROM entries")
        return version, rows.fetchall()


@pytest.mark.quick
def test_a_ledger_of_the_first_format_is_read_and_upgraded_when_it_is_written(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for change in ("spend", "confirm"):
        with subtests.test(change):
            path = made_before(tmp_path / f"{change}.ledger")
            before, (version, rows) = path.read_bytes(), content(path)
            account = ledger_file.read(path)
            assert path.read_bytes() == before and version == 1
            assert [str(entry.spent) for entry in account.entries] == ["1/8", "1/3", "1/3"]
            assert account.terms == replace(TERMS, partition="part")
            assert left(account, "yes") == Fraction(5, 24)  # of true and 1, which had an account each
            if change == "spend":
                ledger_file.spend(path, ENTRY, all_right)
            else:
                ledger_file.confirm(path, account.entries[1], "there", "01" * 32)
            after, (version, kept) = ledger_file.read(path), content(path)
            assert version == 2 and kept[:3] == rows
            assert after.entries[0] == account.entries[0] and after.entries[2] == account.entries[2]
            assert (len(after.entries), after.entries[1].folder) == (
                (4, "") if change == "spend" else (3, "there")
            )
            assert spent(after.entries, None) >= spent(account.entries, None)
            edited(path, "DELETE FROM entries WHERE number > 2", "UPDATE terms SET entries = 2")
            assert "entries after its last were taken away" in refusal(path)


def test_what_was_changed_in_the_first_format_is_refused(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for statement, what in (
        ("UPDATE entries SET spent = '0' WHERE number = 1", "entry 1 is missing or was changed"),
        ("UPDATE terms SET declared = '2'", "what it declares was changed"),
        ("DELETE FROM entries WHERE number = 3", "it has 2 entries of 3"),
        ("DELETE FROM entries WHERE number = 1", "entry 1 is missing or was changed"),
        ("PRAGMA user_version = 2", "what it declares was changed"),
    ):
        with subtests.test(statement):
            path = made_before(tmp_path / "people.ledger")
            edited(path, statement)
            assert refusal(path) == f"'{path}' is damaged: {what}{WHOLE}"
            path.unlink()


def test_an_upgrade_that_is_cut_off_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made_before(tmp_path / "people.ledger")
    before, write = path.read_bytes(), ledger_file._write

    def full(*arguments: object) -> None:
        write(*arguments)
        raise OSError("no space left on device")

    monkeypatch.setattr(ledger_file, "_write", full)
    with pytest.raises(OSError, match="no space"):
        ledger_file.spend(path, ENTRY, all_right)
    assert path.read_bytes() == before and ledger_file.read(path).entries[2].part == "1"


@pytest.mark.quick
def test_what_could_undo_a_charge_is_refused(ledger: Path, subtests: pytest.Subtests) -> None:
    whole = ledger.read_bytes()
    for what in ["TRIGGER t AFTER INSERT ON entries BEGIN DELETE FROM entries; END", "VIEW t AS SELECT 1"]:
        with subtests.test(what):
            ledger.write_bytes(whole)
            edited(ledger, f"CREATE {what}")
            assert (
                refusal(ledger)
                == f"'{ledger}' is damaged: it holds other things than a ledger's tables{WHOLE}"
            )


@pytest.mark.quick
def test_what_is_written_is_read_before_it_counts(ledger: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, row = ledger.read_bytes(), ledger_file.entry_row
    for module in (ledger_file, ledger_file):
        monkeypatch.setattr(
            module, "entry_row", lambda e: row(replace(e, spent=e.spent / 2) if e.number == 3 else e)
        )
    with pytest.raises(LedgerError) as caught:
        ledger_file.spend(ledger, ENTRY, all_right)
    assert str(caught.value) == (f"'{ledger}' does not hold what was written to it; nothing was spent{WHOLE}")
    assert ledger.read_bytes() == before
