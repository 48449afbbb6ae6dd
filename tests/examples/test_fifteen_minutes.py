"""A release in fifteen minutes: each command of the page prints what stands below it."""

import re
import shlex
from pathlib import Path

import pytest
from command_line import called

from tests.examples.scripts import EXAMPLES, script

PAGE = (EXAMPLES / "fifteen-minutes" / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
NOISY = ("release", "show", "refine")  # whose numbers are others each time
NEAR = 0.02  # relative: another local optimum, on another machine


def words_and_numbers(text: str) -> tuple[list[str], list[float]]:
    """The words with ``№`` for each number, and the numbers; a rule is as long as its table is wide."""
    text = re.sub("─+", "─", text)
    numbers = [float(number.replace(",", "")) for number in NUMBER.findall(text)]
    return NUMBER.sub("№", text).split(), numbers


def difference(shown: str, printed: str, is_noisy: bool) -> str:
    """The first part of a block that was not printed, after the parts before it; empty if there is none."""
    words, numbers = words_and_numbers(printed)
    for part in shown.split("[…]"):
        wanted, near = words_and_numbers(part)
        starts = range(len(words) - len(wanted) + 1)
        at = next((i for i in starts if words[i : i + len(wanted)] == wanted), None)
        if at is None:
            return part
        skipped = sum(word.count("№") for word in words[:at])
        these = numbers[skipped : skipped + len(near)]
        if not is_noisy and these != pytest.approx(near, rel=NEAR):
            return part
        words, numbers = words[at + len(wanted) :], numbers[skipped + len(near) :]
    return ""


@pytest.mark.slow
def test_every_command_of_the_page_prints_what_stands_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    script("census2000/fetch.py").main(["census2000.csv"])
    seen = []
    for language, text in BLOCKS:
        if language == "yaml":
            Path("census.yaml").write_text(text, encoding="utf-8")
        elif language == "console":
            command, _, shown = text.partition("\n")
            arguments = shlex.split(command.removeprefix("$ mmopt "))
            done = called(*arguments)
            assert done.exit_code == (2 if shown.startswith("error: ") else 0), (command, done.stderr)
            wrong = difference(shown, done.stderr + done.stdout, arguments[0] in NOISY)
            assert not wrong, (command, wrong, done.stderr + done.stdout)
            seen.append(" ".join(arguments[: 1 + (arguments[0] == "ledger")]))
    assert seen == [
        *("init", "check", "check", "accuracy", "budget", "ledger create", "release", "show", "refine"),
        "ledger show",
    ]


def test_the_page_installs_as_the_readme_does_which_is_tried() -> None:
    """And a block is found to differ by a word, and by a number that does not depend on the noise."""
    (install,) = [text for language, text in BLOCKS if language == "sh"]
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert install.splitlines()[0] in readme
    assert difference("a 1.0\n[…]\nc", "a 1.001 b\nc", is_noisy=False) == ""
    assert difference("a 1.0\n[…]\nd", "a 1.001 b\nc", is_noisy=False) == "\nd"
    assert difference("a 1.0", "a 2.0", is_noisy=False) == "a 1.0"
    assert difference("a 1.0", "a 2.0", is_noisy=True) == ""
