"""``mmopt ledger`` and ``mmopt release --ledger``, as they are typed.

Guards ledgers.py.
"""

import json
import os
import signal
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import mmopt
from mmopt import Ledger
from mmopt.errors import LedgerError, PrivacyError
from mmopt.ledger import Bill
from mmopt.ledger.account import shown
from mmopt.mechanism import measured_and_simulated_releases as measurement
from tests.cli.tasks_here import heed_ctrl_c


@pytest.fixture
def ledger(run: Any, files: Path) -> Path:
    assert run("ledger", "create", "people.ledger", "--data-set", "people", "--rho", 0.5).status == 0
    (files / "rho.yaml").write_text(
        (files / "total.yaml")
        .read_text(encoding="utf-8")
        .replace("{epsilon: 1.0, delta: 1.0e-6}", "{rho: 0.25}"),
        encoding="utf-8",
    )
    return files / "people.ledger"


def charged(run: Any, saved: Path, *more: object) -> Any:
    """A release of rho 0.25."""
    return run("release", "rho.yaml", "people.csv", "--strategy", saved, "--ledger", "people.ledger", *more)


def test_a_ledger_is_created_spent_from_and_read(run: Any, files: Path, saved: Path, ledger: Path) -> None:
    done = charged(run, saved, "--out", "out")
    assert done.status == 0, done
    assert "what is left:   mmopt ledger show people.ledger\n" in done.out
    manifest = json.loads((files / "out" / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["ledger"]["left"] == pytest.approx(0.25) and manifest["ledger"]["data_set"] == "people"
    done = run("ledger", "show", "people.ledger")
    assert done.status == 0 and done.err == ""
    (row,) = [line.split() for line in done.out.splitlines() if line.split()[:1] == ["1"]]
    (entry,) = Ledger.load(ledger).account.entries
    assert row == ["1", "0.25", "rho.yaml", entry.workload_hash[:12], entry.time[:19], "out"]
    assert json.loads(run("ledger", "show", "people.ledger", "--json").out) == Ledger.load(ledger).summary()
    assert "Lemma 1.7" in run("ledger", "explain", "people.ledger").out
    done = run("ledger", "export", "people.ledger", "--out", "x.csv")
    assert (done.status, done.out) == (0, "1 release: x.csv\n")
    assert "ledger" in run("show", "out").out


def test_the_total_is_not_passed(run: Any, refused: Any, files: Path, saved: Path, ledger: Path) -> None:
    for name in ("a", "b"):
        assert charged(run, saved, "--out", name).status == 0
    account = Ledger.load(ledger)
    cost = account.account.entries[0].spent  # 0.25, but for rounding of the noise's scale
    words = ("release", "rho.yaml", "people.csv", "--strategy", saved, "--ledger", "people.ledger")
    message = refused(*words, "--out", "c")
    left = shown(Fraction(account.left), is_left=True)  # what is below its rounding is none
    asked = "nothing" if left == "0" else f"the release costs rho {shown(cost)}, and rho {left}"
    assert message.splitlines()[-2:] == [
        f"error: {asked} is left of rho 0.5 in 'people.ledger'",
        "  nothing was spent and no row was released; no useful release of these rows is possible any more: "
        "'mmopt ledger show' lists what was spent on what",
    ]
    assert len(Ledger.load(ledger).account.entries) == 2


def test_what_a_ledger_refuses_is_said_before_anything_is_solved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nothing(*_: Any, **__: Any) -> None:
        raise AssertionError("solved")

    monkeypatch.setattr("mmopt.answers.private_release.accuracy", nothing)
    file = Ledger.create(tmp_path / "t.ledger", "t", rho=1.0).path
    Bill.to(file, "t").spend("add-remove", 1.0, None, "", "0" * 64)
    sexes = mmopt.Domain.of(sex=["F", "M"]).marginal("sex")
    with pytest.raises(PrivacyError, match=r"^nothing is left of rho 1 in"):
        mmopt.release({"sex": ["F"]}, sexes, {"rho": 1.0}, ledger=file, data_set="t")
    for more in ({"neighbours": "replace-one"}, {"unit": {"rows": 2}}):
        with pytest.raises(
            LedgerError, match="counts privacy of add-remove, and this release is private for"
        ):
            mmopt.release({"sex": ["F"]}, sexes, {"rho": 1.0}, ledger=file, data_set="t", **more)


def test_a_part_of_the_table(run: Any, files: Path, saved: Path, ledger: Path) -> None:
    ledger.unlink()
    made = ("ledger", "create", "people.ledger", "--data-set", "people", "--rho", 0.25, "--partition", "sex")
    assert run(*made).status == 0
    done = charged(run, saved, "--out", "f", "--part", "F")
    assert done.status == 0
    assert done.err.endswith(
        "confidential, do not publish: 500 of 500 rows in the part are counted, none dropped\n"
    )
    assert charged(run, saved, "--out", "m", "--part", "M").status == 0
    assert charged(run, saved, "--out", "m2", "--part", "M").status == 2
    done = run("ledger", "show", "people.ledger")
    assert "left for other parts  rho 0.25" in done.out and "left for 'F'" in done.out


def test_a_table_of_another_name_says_which_it_is(run: Any, files: Path, saved: Path, ledger: Path) -> None:
    (files / "copy.csv").write_bytes((files / "people.csv").read_bytes())
    words = (
        "release",
        "rho.yaml",
        "copy.csv",
        "--strategy",
        saved,
        "--ledger",
        "people.ledger",
        "--out",
        "o",
    )
    done = run(*words)
    assert done.status == 2 and not (files / "o").exists()
    assert "is the ledger of the data set 'people', and this release is of 'copy'" in done.err
    assert run(*words, "--data-set", "people").status == 0


def test_an_interruption_after_spending_says_what_was_spent(
    run: Any, files: Path, saved: Path, ledger: Path, monkeypatch: Any
) -> None:
    words = (
        "  rho 0.25 was spent before: entry {} of the ledger 'people.ledger' counts, whatever became of the "
        "release\n"
    )
    rename = os.rename
    for number, (stop, status, said) in enumerate(
        (
            (KeyboardInterrupt(), 130, "interrupted\n"),
            (MemoryError(), 2, "error: not enough memory\n  'mmopt solve WORKLOAD --dry-run' says what a "),
            (ZeroDivisionError("x"), 70, "error: a bug in mmopt (ZeroDivisionError: x)\n"),
            (OSError(28, "No space left on device"), 2, "error: cannot write 'out': No space left on device"),
        ),
        1,
    ):
        run("ledger", "create", f"{number}.ledger", "--data-set", "people", "--rho", 0.5)
        ledger.write_bytes((files / f"{number}.ledger").read_bytes())

        def fail(*_: object, stop: BaseException = stop) -> None:
            raise stop

        monkeypatch.setattr(os, "rename", fail)
        done = charged(run, saved, "--out", "out")
        monkeypatch.setattr(os, "rename", rename)
        assert done.status == status and said in done.err, done
        assert done.err.endswith(words.format(1)), done
        assert not (files / "out").exists()
        assert [entry.state for entry in Ledger.load(ledger).account.entries] == ["spent"]


def test_ctrl_c_after_the_charge_lets_the_release_be_completed(
    run: Any, files: Path, saved: Path, ledger: Path, monkeypatch: Any
) -> None:
    """All is written and printed; the status says that it was pressed, the message that all is there."""
    before = measurement.add_noise

    def press(*arguments: Any) -> Any:
        signal.raise_signal(signal.SIGINT)
        return before(*arguments)

    monkeypatch.setattr(measurement, "add_noise", press)
    done = charged(run, saved, "--out", "out")
    assert done.status == 130 and "mmopt show out" in done.out
    assert done.err.endswith("whatever became of the release\n  the release is complete in 'out'\n")
    assert [entry.state for entry in Ledger.load(ledger).account.entries] == ["released"]


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize(
    "module, name",
    [("measured_and_simulated_releases", "add_noise"), ("release_writing", "_sync")],
    ids=["noise", "folder"],
)
def test_ctrl_c_twice_says_what_was_spent(
    files: Path, saved: Path, ledger: Path, module: str, name: str
) -> None:
    """Native code that Ctrl-C cannot stop, after the charge: nothing is drawn yet, or all is written."""
    code = (
        "import hashlib, os, signal, threading, time\n"
        f"from mmopt.mechanism import {module}\n"
        f"before = {module}.{name}\n"
        "def press():\n"
        "    for wait in (0.5, 0.1):\n"
        "        time.sleep(wait); os.kill(os.getpid(), signal.SIGINT)\n"
        "def slow(*arguments, **more):\n"
        "    threading.Thread(target=press, daemon=True).start()\n"
        "    hashlib.pbkdf2_hmac('sha256', b'a', b'b', 60_000_000)\n"
        "    return before(*arguments, **more)\n"
        f"{module}.{name} = slow\n"
        "from mmopt.cli import main\n"
        "main()\n"
    )
    words = ("release", "rho.yaml", "people.csv", "--strategy", saved, "--ledger", ledger, "--out", "o")
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, words)],
        capture_output=True,
        text=True,
        cwd=files,
        preexec_fn=heed_ctrl_c,
    )
    assert done.returncode == 130
    assert done.stderr.endswith(
        f"interrupted\n  rho 0.25 was spent before: entry 1 of the ledger '{ledger}' counts, whatever became "
        "of the release\n"
    )


def test_a_name_under_which_nothing_can_be_written_spends_nothing(
    run: Any, refused: Any, saved: Path, ledger: Path
) -> None:
    words = ("release", "rho.yaml", "people.csv", "--strategy", saved, "--ledger", "people.ledger")
    said = refused(*words, "--out", "o" * 300)
    assert said.startswith(f"error: cannot write '{'o' * 300}': File name too long\n")
    assert not Ledger.load(ledger).account.entries
