"""A release that is charged: what comes before, what after, and what is said when it fails between.

Guards private_release.py, mechanism/measured_and_simulated_releases.py, release_plan.py (decimals),
epsilon_delta_rho.py (within_decimal) and errors.py (last words).
"""

import contextlib
import json
import os
import re
import signal
from dataclasses import replace
from fractions import Fraction
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import mmopt
from mmopt import Ledger
from mmopt.answers import private_release
from mmopt.answers.accuracy_budget_and_default_strategy import at_privacy
from mmopt.answers.private_release import data_set_name
from mmopt.errors import LAST_WORDS, DataError, LedgerError, OptionError, PrivacyError
from mmopt.ledger import Bill, Charge, Entry, ledger_file
from mmopt.mechanism import measured_and_simulated_releases as measurement, release_writing
from mmopt.results import Frame

DOMAIN = mmopt.Domain.of(sex=["F", "M"])
ASKED = DOMAIN.marginal("sex")
PEOPLE = {"sex": ["F", "M", "F"], "region": ["north", "south", "north"]}
SOLUTION = mmopt.solve(ASKED, "l2_strategy")


@pytest.fixture(autouse=True)
def without_charts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drawing one takes longer than all else, and charges nothing."""
    monkeypatch.setattr(private_release, "has_matplotlib", lambda: False)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return Ledger.create(tmp_path / "people.ledger", "people", rho=0.5, partition="region").path


def released(ledger: Path, rho: float = 0.125, data: object = PEOPLE, **more: Any) -> mmopt.Release:
    given = {"data_set": "people", "strategy": SOLUTION, "ledger": ledger, **more}
    return mmopt.release(data, ASKED, {"rho": rho}, **given)


def test_a_wish_that_will_be_missed_stops_the_release_before_it_reads_or_spends(
    ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = DOMAIN.product(sex="identity", within=1.0) + DOMAIN.product()
    ask = partial(mmopt.release, PEOPLE, asked, {"rho": 0.125})
    with monkeypatch.context() as patch, pytest.raises(PrivacyError) as refused:
        patch.setattr(private_release, "counted_data", None)  # no row is counted
        ask(ledger=ledger, data_set="people")
    assert str(refused.value).startswith(
        "at this privacy accuracy targets are missed by 2 of 2 in 'sex' (± 1 at 95%)\n"
    )
    assert (
        "what the targets need (where every entry has one, however loose, no more is spent): loosen"
        in str(refused.value)
    )
    assert "anyway=True" in str(refused.value) and states(ledger) == []
    for given in ({"anyway": True}, {"simulate": 1}):
        assert ask(**given).manifest["accuracy"]["asked"]["sex"]["missed"] == 2
    assert mmopt.release(PEOPLE, asked, {"rho": 8.0}).manifest["accuracy"]["asked"]["sex"]["missed"] == 0


def states(ledger: Path) -> list[str]:
    return [entry.state for entry in Ledger.load(ledger).account.entries]


def test_a_release_is_charged_and_its_folder_confirmed(ledger: Path, tmp_path: Path) -> None:
    release = released(ledger)
    assert states(ledger) == ["spent"]
    assert release.manifest["ledger"] == {
        "data_set": "people",
        "entry": 1,
        "measure": "rho",
        "spent": 0.125,
        "total": 0.5,
        "left": 0.375,
    }
    folder = release.save(tmp_path / "out")
    (entry,) = Ledger.load(ledger).account.entries
    assert (entry.state, entry.folder) == ("released", str(folder))
    assert entry.workload_hash == release.manifest["workload"]["hash"]
    found = mmopt.load_release(folder, ASKED)
    assert found.charge is None
    assert dict(found.rows())["ledger"] == (
        "entry 1 of the data set 'people': rho 0.125 spent of 0.5, 0.375 left after it"
    )
    release.save(tmp_path / "again")  # the same answers, which cost nothing more
    assert Ledger.load(ledger).account.entries == (entry,)


@pytest.mark.some(1)
@pytest.mark.parametrize("first", ["refined", "release"])
def test_refined_answers_confirm_the_release_that_they_hold(ledger: Path, tmp_path: Path, first: str) -> None:
    """Whichever folder is the first: that of refined answers has the release's, of which it says the hash."""
    release = released(ledger)
    saves = {"release": release, "refined": release.refine(totals=3)}
    for name in (first, *(saves.keys() - {first})):
        saves[name].save(tmp_path / name)
    (entry,) = Ledger.load(ledger).account.entries
    manifest = (tmp_path / first / release_writing.MANIFEST_FILE).read_bytes()
    assert (entry.state, entry.folder) == ("released", str(tmp_path / first))
    assert entry.manifest_hash == sha256(manifest).hexdigest()
    held = mmopt.load_release(tmp_path / "refined", ASKED)
    assert held.manifest["ledger"] == release.manifest["ledger"]
    columns = {name: held.answers[name] for name in held.answers.names if name != "refined"}
    texts = {name: text for name, text in held.answers.metadata.items() if name != "refined"}
    answers = (tmp_path / "release" / release_writing.ANSWERS_FILE).read_bytes()
    assert Frame(columns, texts).to_csv().encode() == answers
    assert held.manifest["refined"]["of"]["answers_sha256"] == sha256(answers).hexdigest()


def test_a_release_that_was_loaded_confirms_nothing(ledger: Path, tmp_path: Path) -> None:
    """It is confirmed already, and where the ledger is it does not know."""
    folder = released(ledger).save(tmp_path / "out")
    before = ledger.read_bytes()
    mmopt.load_release(folder, ASKED).refine().save(tmp_path / "refined")
    assert ledger.read_bytes() == before


def test_a_part_is_counted_alone_and_said(ledger: Path) -> None:
    release = released(ledger, 0.5, part="north")
    assert release.manifest["ledger"]["part"] == {"column": "region", "value": "north"}
    assert release.manifest["ledger"]["left"] == 0.0
    assert dict(release.rows())["ledger"] == (
        "entry 1 of the data set 'people', part 'north' of 'region': rho 0.5 spent of 0.5, 0 left after it"
    )
    # 0, 1 and not 2, 1: at so large a rho there is no noise to speak of.
    ample = Ledger.create(ledger.with_name("ample"), "people", rho=1e4, partition="region").path
    assert released(ample, 1e4, part="south").answers["estimate"] == pytest.approx([0, 1], abs=0.1)
    released(ledger, 0.5, part="south")
    with pytest.raises(PrivacyError):
        released(ledger, 0.125)
    assert states(ledger) == ["spent", "spent"]


def test_simulated_noise_spends_nothing_and_is_refused_alike(ledger: Path) -> None:
    before = ledger.read_bytes()
    assert "ledger" not in released(ledger, simulate=1).manifest
    with pytest.raises(PrivacyError) as caught:
        released(ledger, 0.75, simulate=1)
    assert caught.value.message == (
        f"the release costs rho 0.75, and rho 0.5 is left of rho 0.5 in '{ledger}'"
    )
    with pytest.raises(LedgerError):
        released(ledger, data_set="adults", simulate=1)
    assert ledger.read_bytes() == before


def test_laplace_noise_costs_half_its_square(ledger: Path) -> None:
    release = mmopt.release(PEOPLE, ASKED, {"epsilon": 0.5}, ledger=ledger, data_set="people")
    assert release.manifest["ledger"]["spent"] == release.manifest["privacy"]["epsilon"] ** 2 / 2 <= 0.125


def test_what_is_refused_is_refused_before_rows_are_read(ledger: Path, tmp_path: Path) -> None:
    """A row without a cell would be refused too, were it read."""
    (tmp_path / "people.csv").write_text("sex,region\nX,north\n")
    data = tmp_path / "people.csv"
    before = ledger.read_bytes()
    for more, error, said in (
        ({"rho": 0.75}, PrivacyError, "the release costs rho 0.75, and "),
        ({"data_set": "adults"}, LedgerError, f"'{ledger}' is the ledger of the data set 'people'"),
        ({"neighbours": "replace-one"}, LedgerError, f"'{ledger}' counts privacy of add-remove"),
        ({"ledger": tmp_path / "no"}, LedgerError, f"there is no ledger '{tmp_path / 'no'}'"),
        ({"ledger": data}, LedgerError, f"'{data}' is not a ledger: it is not an SQLite database"),
        ({"ledger": None}, OptionError, "the data set is given without a ledger"),
        ({"ledger": None, "data_set": None, "part": "a"}, OptionError, "the part is given without a ledger"),
    ):
        with pytest.raises(error) as caught:
            released(**{"ledger": ledger, "data": data, **more})
        assert caught.value.message.startswith(said)
    with pytest.raises(DataError) as caught:
        released(ledger, data=data)
    assert "rows without a cell" in caught.value.message and "spent" not in str(caught.value)
    assert ledger.read_bytes() == before


def test_a_plan_that_was_changed_is_refused_before_spending(ledger: Path, monkeypatch: Any) -> None:
    def refuse(_: object) -> None:
        raise PrivacyError("it costs more than it claims")

    monkeypatch.setattr(measurement, "check_claim", refuse)
    with pytest.raises(PrivacyError) as caught:
        released(ledger)
    assert str(caught.value) == "it costs more than it claims" and states(ledger) == []


def test_the_ledger_is_charged_before_noise_is_drawn(ledger: Path, monkeypatch: Any) -> None:
    drawn, seen = measurement.add_noise, []

    def watched(*arguments: Any) -> Any:
        seen.append(states(ledger))
        return drawn(*arguments)

    monkeypatch.setattr(measurement, "add_noise", watched)
    released(ledger)
    assert seen == [["spent"]]


def test_a_failure_after_spending_says_what_was_spent(ledger: Path, tmp_path: Path, monkeypatch: Any) -> None:
    def fail(*_: object) -> None:
        raise PrivacyError("OpenDP does not confirm it")

    words = f"rho 0.125 was spent before: entry {{}} of the ledger '{ledger}' counts, whatever became of "
    with monkeypatch.context() as patch:
        patch.setattr(measurement, "add_noise", fail)
        with pytest.raises(PrivacyError) as caught:
            released(ledger)
    assert str(caught.value) == f"OpenDP does not confirm it\n  {words.format(1)}the release"
    release = released(ledger)
    (tmp_path / "out").mkdir()
    with pytest.raises(OptionError) as other:
        release.save(tmp_path / "out")
    assert str(other.value).endswith(f"name another folder\n  {words.format(2)}the release")
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt) as stopped:
            release.save(tmp_path / "out2")
    assert stopped.value.__notes__ == [f"{words.format(2)}the release"]
    assert states(ledger) == ["spent", "spent"] and not (tmp_path / "out2").exists()
    release.save(tmp_path / "out3")
    assert states(ledger) == ["spent", "released"]


@pytest.mark.parametrize("wrong", [{}, {"confidence": Fraction(19, 20)}], ids=["right", "another type"])
def test_a_failure_of_say_spends_nothing_or_says_what_was_spent(
    ledger: Path, monkeypatch: Any, wrong: dict[str, Any]
) -> None:
    """The rows left out are named before the charge; no error loses what is noted after it."""

    def fail(text: str = "confidential") -> None:
        if text.startswith("confidential"):
            raise TypeError("the log is closed")

    with pytest.raises(TypeError, match="the log is closed") as caught:
        released(ledger, say=fail)
    assert states(ledger) == [] and not hasattr(caught.value, "__notes__")
    monkeypatch.setattr(measurement, "add_noise", lambda *_: fail())
    with pytest.raises(TypeError, match="the log is closed") as later:
        released(ledger, **wrong)
    assert later.value.__notes__ == [
        f"rho 0.125 was spent before: entry 1 of the ledger '{ledger}' counts, whatever became of the release"
    ]


def test_ctrl_c_while_a_folder_is_written_finds_it_complete(
    ledger: Path, tmp_path: Path, monkeypatch: Any
) -> None:
    """Pressed before the folder is there, and after: it is written, confirmed, and said to be complete."""
    for number, name in enumerate(("to_bytes", "_sync", "confirm"), 1):
        release = released(ledger)
        owner: Any = {"to_bytes": mmopt.Solution, "_sync": release_writing, "confirm": Charge}[name]
        before = getattr(owner, name)

        def press(*arguments: Any, before: Any = before) -> Any:
            signal.raise_signal(signal.SIGINT)
            return before(*arguments)

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as stopped:
            patch.setattr(owner, name, press)
            release.save(tmp_path / name)
        assert stopped.value.__notes__ == [f"the release is complete in '{tmp_path / name}'"]
        assert mmopt.load_release(tmp_path / name).manifest["ledger"]["entry"] == number
    assert states(ledger) == ["released"] * 3


@pytest.mark.parametrize("place", ["check_columns", "counted_data", "counted_exactly"])
def test_ctrl_c_that_is_lost_before_the_charge_spends_nothing(
    ledger: Path, monkeypatch: Any, place: str
) -> None:
    """Python goes on where it is raised in a ``__del__``, as in those of Ibis."""
    before = getattr(private_release, place)

    def lose(*arguments: Any, **options: Any) -> Any:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return before(*arguments, **options)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt) as stopped:
        patch.setattr(private_release, place, lose)
        released(ledger)
    assert states(ledger) == [] and not hasattr(stopped.value, "__notes__")


def test_an_error_between_noise_and_folder_says_what_was_spent(ledger: Path) -> None:
    """The caller's own work as well: the folder may be written there."""
    asked = at_privacy(ASKED, {"rho": 0.125})
    options: dict[str, Any] = {"options": {}, "is_given": True, "data_set": "people", "part": None}
    planned = partial(mmopt.accuracy, ASKED, {"rho": 0.125}, strategy=SOLUTION)
    prepared = private_release.prepare(PEOPLE, asked, planned, ledger=ledger, **options)
    with pytest.raises(OptionError) as caught, prepared.measured(None) as release:
        assert [[release.charge.words]] == LAST_WORDS
        raise OptionError("no folder", hint="make one")
    assert caught.value.hint == f"make one\n  {release.charge.words}" and LAST_WORDS == []


def test_only_what_may_be_charged_is_doubted(ledger: Path, monkeypatch: Any) -> None:
    """A ledger that refuses says what is so; between its commit and its answer nobody knows."""

    def end(error: BaseException) -> BaseException:
        def spend(*_: object) -> None:
            raise error

        monkeypatch.setattr(Bill, "spend", spend)
        with pytest.raises(type(error)) as caught:
            released(ledger)
        return caught.value

    assert str(end(LedgerError("replaced meanwhile"))) == "replaced meanwhile"
    for doubtful in (KeyboardInterrupt(), MemoryError()):
        assert end(doubtful).__notes__ == [
            f"the release may have been charged: 'mmopt ledger show {ledger}' says what is spent"
        ]


def test_nothing_of_the_data_is_in_the_ledger(ledger: Path, tmp_path: Path) -> None:
    """Two tables, the same releases: the same ledgers but for times and the manifests' hashes."""
    other = Ledger.create(tmp_path / "other.ledger", "people", rho=0.5, partition="region").path
    for own, data in ((ledger, PEOPLE), (other, {"sex": ["M"] * 1234, "region": ["north"] * 1234})):
        released(own, data=data)
        released(own, data=data, part="north")
    ours, theirs = (json.dumps(Ledger.load(own).summary()) for own in (ledger, other))
    times = [entry.time for own in (ledger, other) for entry in Ledger.load(own).account.entries]
    times += [Ledger.load(own).account.terms.created for own in (ledger, other)]
    for time in times:
        ours, theirs = ours.replace(time, ""), theirs.replace(time, "")
    assert ours == theirs and "1234" not in ours


def test_a_data_set_is_called_by_its_table(subtests: pytest.Subtests) -> None:
    for data, table, name in [
        ("people.csv", None, "people"),
        (Path("a/people.2020.csv.gz"), None, "people"),
        ("shop.duckdb", "customers", "customers"),
        ("postgresql://me:secret@host/shop", "customers", "customers"),
    ]:
        with subtests.test(name):
            assert data_set_name(data, table) == name


def test_what_has_no_name_needs_one(ledger: Path, subtests: pytest.Subtests) -> None:
    for data in [PEOPLE, "postgresql://me:secret@host/shop", ".csv"]:
        with subtests.test(str(data)):
            unnamed = partial(released, ledger, data=data, data_set=None)
            for call in (partial(data_set_name, data, None), unnamed):
                with pytest.raises(OptionError) as caught:
                    call()
                assert str(caught.value) == (
                    "a release charged to a ledger needs the name of its data set, and this table has no "
                    "name\n  say which it is: --data-set NAME (data_set= in Python)"
                )


def test_stated_decimals_fill_a_total_and_each_noise_costs_no_more(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    """0.1 is 1/10: three fit into 3/10; what is charged is at least what the noise costs, in fractions."""
    pure = mmopt.solve(ASKED, "p_identity")
    for measure, name, each, total in (
        ("epsilon", "epsilon", "0.1", "0.3"),
        *(("rho", "rho", "0.7", "2.1"), ("rho", "epsilon", "0.2", "0.06")),
    ):
        with subtests.test(f"{name} {each} of {measure} {total}"):
            file = Ledger.create(
                tmp_path / f"{measure}{name}{each}", "people", **{measure: float(total)}, partition="region"
            ).path
            stated = Fraction(each) if measure == name else Fraction(each) ** 2 / 2
            count = int(Fraction(total) / stated)
            solution = SOLUTION if name == "rho" else pure
            given = {"ledger": file, "data_set": "people", "strategy": solution}
            for i in range(count):
                part = None if i else "north"
                release = mmopt.release(PEOPLE, ASKED, {name: float(each)}, part=part, **given)
                assert release.plan is not None and release.charge is not None
                squared = release.plan.integer.squared_sensitivity
                exact = release.plan.law.exact_cost(squared, Fraction(release.plan.scale))
                charged = release.charge.entry.spent
                assert (exact if measure == name else exact**2 / 2) <= charged <= stated
            with pytest.raises(PrivacyError, match="nothing is left"):
                mmopt.release(PEOPLE, ASKED, {name: float(each)}, part="north", **given)


def test_a_ledger_of_doubles_keeps_what_was_spent(tmp_path: Path) -> None:
    """A charge and a total that are the doubles of 0.2 and 1.1, as former versions wrote them."""
    file = Ledger.create(tmp_path / "people.ledger", "people", epsilon=1.1).path
    account = Ledger.load(file).account
    file.unlink()
    former = replace(account.terms, total=Fraction(1.1), declared=Fraction(1.1))
    ledger_file.create(file, former)
    ledger_file.spend(file, Entry(0, "", Fraction(0.2), "", "", None), lambda _: None)
    read = Ledger.load(file)
    assert (read.total, read.spent, read.account.entries[0].spent) == (1.1, 0.2, Fraction(0.2))
    assert Fraction(read.left) <= Fraction(1.1) - Fraction(0.2)
    mmopt.release(PEOPLE, ASKED, {"epsilon": read.left}, ledger=file, data_set="people")
    assert Ledger.load(file).left < 1e-12


def test_laplace_noise_in_a_ledger_of_rho_says_what_gaussian_noise_costs(ledger: Path) -> None:
    """A release as advised costs the rho that was said, and has the errors that were said."""
    words: list[str] = []
    given = {"ledger": Ledger.load(ledger), "data_set": "people", "say": words.append}
    mmopt.release(PEOPLE, ASKED, {"epsilon": 0.5, "delta": 1e-6}, simulate=1, **given)
    assert words[0].startswith("chosen: p_identity with Laplace noise: rmse ")
    found = re.fullmatch(
        r"in the ledger, which counts rho, Laplace noise costs rho 0.125 \(epsilon² / 2\); l2_strategy with "
        r"Gaussian noise would cost rho (\S+), with rmse (\S+): to choose it write 'privacy: \{rho: \1\}' "
        r"\(privacy=\{\"rho\": \1\} in Python\)",
        words[1],
    )
    assert found is not None and words[2].startswith("confidential")
    release = mmopt.release(PEOPLE, ASKED, {"rho": float(found[1])}, **given)
    assert release.charge is not None and release.charge.entry.spent <= Fraction(found[1])
    assert release.rmse <= float(found[2])
    assert len(words) == 5 and "in the ledger" not in "".join(words[3:])
