"""Releases charged to a ledger, killed: at every write boundary, at random moments; and two at once.

    python tests/ledger/many_kills.py boundaries FOLDER EVERY
    python tests/ledger/many_kills.py upgrade FOLDER EVERY
    python tests/ledger/many_kills.py random FOLDER 500 [SEED]
    python tests/ledger/many_kills.py pairs FOLDER 200

Each prints one JSON object of what became of them, once everything is found to be consistent: the ledger
opens, its sums hold, each folder is a whole release that one entry knows or has not confirmed, none is torn.
A release is a process of its own, forked once everything is imported and planned: it charges the ledger,
draws the noise, writes the folder, confirms. With ``upgrade`` the ledger is one of the first format. Linux:
boundaries are found by ptrace, which stops the process before each system call that changes a file or folder.
"""

import contextlib
import ctypes
import json
import os
import platform
import shutil
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from hashlib import sha256
from pathlib import Path

import numpy as np

import mmopt
from mmopt.answers.private_release import measured
from mmopt.data import DataVector
from mmopt.ledger import Bill
from mmopt.ledger.account import spent
from tests.ledger.first_format import made_before

WORKLOAD = mmopt.Domain.of(sex=["F", "M"], age=["child", "adult"]).marginal("sex", "age")
COST = 0.125
PLANNED = mmopt.accuracy(WORKLOAD, {"rho": COST}, strategy=mmopt.solve(WORKLOAD, "l2_strategy"))
COUNTS = DataVector(np.array([3, 5, 7, 9]), 24, {})
REFUSED, DONE = 7, 0
# What changes a file that is open; and folders, by path.
CALLS = {
    "x86_64": ({1, 18, 20, 74, 75, 77}, {82, 83, 84, 86, 87, 258, 263, 264, 265, 316}),
    "aarch64": ({46, 64, 66, 68, 82, 83}, {34, 35, 37, 38, 276}),
}


def release(ledger: Path, folder: Path) -> int:
    """One release as ``mmopt.release`` and ``save`` make it, from where the rows are counted."""
    try:
        bill = Bill.to(ledger, "people")
        bill.check("add-remove", PLANNED.plan.rho, None)
        with measured(PLANNED, COUNTS, {}, None, bill) as release:
            release.save(folder)
    except mmopt.PrivacyError:
        return REFUSED
    return DONE


def warmed_up(folder: Path) -> None:
    """One release here, so that forked ones find all imported that they need."""
    folder.mkdir(parents=True, exist_ok=True)
    mmopt.Ledger.create(folder / "warm.ledger", "people", rho=COST)
    assert release(folder / "warm.ledger", folder / "warm") == DONE


def forked(work: Callable[[], int]) -> int:
    """A process that does this and nothing else; its id."""
    pid = os.fork()
    if pid == 0:
        status = 99
        try:
            status = work()
        finally:
            os._exit(status)
    return pid


def consistent(ledger: Path, folders: Path) -> Counter[str]:
    """How many entries are in which state; AssertionError where ledger and folders contradict each other."""
    account = mmopt.Ledger.load(ledger).account
    assert spent(account.entries, None) == sum((entry.spent for entry in account.entries), Fraction(0))
    assert spent(account.entries, None) <= account.terms.total
    by_number = {entry.number: entry for entry in account.entries}
    seen = Counter[str]()
    for folder in sorted(folders.iterdir()):
        if folder.name.endswith(".partial"):
            continue  # of a process that was killed; the next release of that name removes it
        found = mmopt.load_release(folder, WORKLOAD)  # whole, its files as its manifest lists them
        entry = by_number.pop(found.manifest["ledger"]["entry"])  # none has two folders
        assert found.private and found.manifest["ledger"]["spent"] == float(entry.spent)
        if entry.state == "released":
            manifest = (folder / "manifest.json").read_bytes()
            assert (entry.folder, entry.manifest_hash) == (str(folder), sha256(manifest).hexdigest())
            seen["released"] += 1
        else:
            seen["written, not confirmed"] += 1
    assert all(entry.state == "spent" for entry in by_number.values()), "released, and there is no folder"
    seen["spent, no folder"] = len(by_number)
    return seen


LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
LIBC.ptrace.restype = ctypes.c_long
TRACEME, SYSCALL, SETOPTIONS, INFO = 0, 24, 0x4200, 0x420E
OPTIONS = 0x1 | 0x100000  # stops of system calls are told apart; the child ends with this process
ENTRY = 1


def ptrace(request: int, pid: int, address: int = 0, data: int = 0) -> None:
    if LIBC.ptrace(request, pid, address, data) < 0:
        raise OSError(ctypes.get_errno(), f"ptrace {request:#x}")


def traced(work: Callable[[], int]) -> Callable[[], int]:
    def run() -> int:
        ptrace(TRACEME, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        return work()

    return run


def boundaries(pid: int, inside: Path) -> Iterator[str]:
    """The calls of a traced process that change something in the folder, each before it is made."""
    files, paths = CALLS[platform.machine()]
    buffer = (ctypes.c_uint64 * 12)()
    os.waitpid(pid, 0)
    ptrace(SETOPTIONS, pid, 0, OPTIONS)
    passed = 0
    while True:
        ptrace(SYSCALL, pid, 0, passed)
        _, status = os.waitpid(pid, 0)
        if not os.WIFSTOPPED(status):
            assert os.WIFEXITED(status) and os.WEXITSTATUS(status) == DONE, status
            return
        stop = os.WSTOPSIG(status)
        passed = 0 if stop == signal.SIGTRAP | 0x80 else stop
        if passed:
            continue
        ptrace(INFO, pid, ctypes.sizeof(buffer), ctypes.addressof(buffer))
        if buffer[0] & 0xFF != ENTRY:
            continue
        call, first = buffer[3], buffer[4]
        if call in paths:
            yield f"path {call}"
        elif call in files:
            with contextlib.suppress(OSError):
                name = os.readlink(f"/proc/{pid}/fd/{first}")
                if name.startswith(f"{inside}/"):
                    yield f"file {call}"


def kill_at_every_boundary(folder: Path, every: int = 1, is_first: bool = False) -> dict[str, int]:
    """A release is killed before its first, second, … change, or so many further; what became of them."""
    warmed_up(folder)
    seen = Counter[str]()
    last = ""
    order = ["nothing spent", "spent, no folder", "written, not confirmed", "released"]
    for count in range(0, 10_000, every):
        inside = folder / str(count)
        releases = inside / "releases"
        releases.mkdir(parents=True)
        ledger = inside / "people.ledger"
        if is_first:
            made_before(ledger, [], str(Fraction(COST)), None)
        else:
            mmopt.Ledger.create(ledger, "people", rho=COST)
        pid = forked(traced(lambda ledger=ledger, releases=releases: release(ledger, releases / "r")))
        killed = False
        for number, _ in enumerate(boundaries(pid, inside)):
            if number == count:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
                killed = True
                break
        states = +consistent(ledger, releases)
        assert sum(states.values()) <= 1
        state = next(iter(states), "nothing spent")
        assert not last or order.index(state) >= order.index(last), (count, last, state)
        seen[state] += 1
        # What is left of the total is there for the next one, and nothing else.
        assert mmopt.Ledger.load(ledger).left == (COST if state == "nothing spent" else 0.0), (count, state)
        if count % 7 == 0:
            after = release(ledger, releases / "r")
            assert after == (DONE if state == "nothing spent" else REFUSED), (count, state, after)
            consistent(ledger, releases)
        last = state
        shutil.rmtree(inside)
        if not killed:
            return dict(seen)
    raise AssertionError("a release that does not end")


def kill_at_random(folder: Path, kills: int, seed: int) -> dict[str, int]:
    """So many releases from one ledger, each killed at a moment up to a little after its end."""
    warmed_up(folder)
    rng = np.random.default_rng(seed)
    ledger, releases = folder / "people.ledger", folder / "releases"
    releases.mkdir(parents=True)
    mmopt.Ledger.create(ledger, "people", rho=COST * kills)
    begun = time.monotonic()
    assert os.waitpid(forked(lambda: release(ledger, releases / "first")), 0)[1] == DONE
    usual = time.monotonic() - begun
    outcomes = Counter[str]()
    for number in range(kills):
        before = len(mmopt.Ledger.load(ledger).account.entries)
        pid = forked(lambda number=number: release(ledger, releases / str(number)))
        time.sleep(float(rng.uniform(0, 1.3 * usual)))
        os.kill(pid, signal.SIGKILL)
        status = os.waitpid(pid, 0)[1]
        outcomes["killed" if os.WIFSIGNALED(status) else "ended before"] += 1
        after = len(mmopt.Ledger.load(ledger).account.entries)
        assert before <= after <= before + 1
        if number % 50 == 49:
            consistent(ledger, releases)
    return {**outcomes, **consistent(ledger, releases)}


def pairs_at_once(folder: Path, pairs: int) -> dict[str, int]:
    """Two processes release what is left for one: one does, and the other is refused."""
    warmed_up(folder)
    outcomes = Counter[str]()
    for number in range(pairs):
        ledger, releases = folder / f"{number}.ledger", folder / f"releases-{number}"
        releases.mkdir(parents=True)
        mmopt.Ledger.create(ledger, "people", rho=COST)
        gate, opened = os.pipe()

        def waiting(name: str, ledger: Path = ledger, releases: Path = releases, gate: int = gate) -> int:
            os.read(gate, 1)
            return release(ledger, releases / name)

        pids = [forked(lambda name=name: waiting(name)) for name in ("a", "b")]
        os.write(opened, b"..")
        ends = sorted(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids)
        os.close(gate)
        os.close(opened)
        assert ends == [DONE, REFUSED], (number, ends)
        assert +consistent(ledger, releases) == {"released": 1}
        outcomes["one released, one refused"] += 1
    return dict(outcomes)


def main(kind: str, folder: str, number: str = "0", seed: str = "0") -> None:
    place = Path(folder).resolve()
    match kind:
        case "boundaries":
            found = kill_at_every_boundary(place, every=int(number))
        case "upgrade":
            found = kill_at_every_boundary(place, every=int(number), is_first=True)
        case "random":
            found = kill_at_random(place, int(number), int(seed))
        case "pairs":
            found = pairs_at_once(place, int(number))
        case "few":
            found = {**kill_at_random(place / "r", int(number), int(seed)), **pairs_at_once(place / "p", 1)}
        case _:
            sys.exit(__doc__)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
