"""Pages read in the repository: each command prints what stands below it, each link leads somewhere."""

import re
import shlex
from pathlib import Path

import pytest
from command_line import called

from tests.examples.scripts import EXAMPLES, script

LONG, SHORT = EXAMPLES / "fifteen-minutes" / "README.md", EXAMPLES / "site" / "pages" / "two-minutes.md"
READ_HERE = (LONG, SHORT, EXAMPLES / "lessons" / "01-matrix-mechanism.md", EXAMPLES.parent / "README.md")


def blocks(file: Path) -> list[tuple[str, str]]:
    """The blocks of a page: language and text."""
    page = file.read_text(encoding="utf-8")
    return re.findall(r"^```(\w+)\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)


NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
NOISY = ("release", "show", "refine")  # whose numbers are others each time
GAP = re.compile(r"^((?:error )?gap +)[\d.e-]+", re.MULTILINE)
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
    assert tried(LONG, "census.yaml") == [
        *("init", "check", "check", "accuracy", "budget", "ledger create", "release", "show", "refine"),
        "ledger show",
    ]


def test_so_does_every_command_of_the_two_minutes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (code,) = (text for language, text in blocks(SHORT) if language == "python")
    exec(code, {})
    assert tried(SHORT, "ages.yaml") == ["solve", "release"]


def tried(file: Path, workload: str) -> list[str]:
    """Run the commands of a page, its workload file written where it stands; their names."""
    seen = []
    for language, text in blocks(file):
        if language == "yaml":
            Path(workload).write_text(text, encoding="utf-8")
        elif language == "console":
            command, _, shown = text.partition("\n")
            arguments = shlex.split(command.removeprefix("$ mmopt "))
            done = called(*arguments)
            assert done.exit_code == (2 if shown.startswith("error: ") else 0), (command, done.stderr)
            # Of a small gap the digits depend on the machine.
            shown, printed = (GAP.sub(r"\1", said) for said in (shown, done.stderr + done.stdout))
            wrong = difference(shown, printed, arguments[0] in NOISY)
            assert not wrong, (command, wrong, printed)
            seen.append(" ".join(arguments[: 1 + (arguments[0] == "ledger")]))
    return seen


def test_pages_that_are_read_in_the_repository_lead_somewhere_and_have_no_directives() -> None:
    for file in READ_HERE:
        text = file.read_text(encoding="utf-8")
        for link in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", text):
            assert "://" in link or (file.parent / link).exists(), (file.name, link)
        assert not re.search(r"^(:::|%)|`{3,}\{(?!code-cell\})|^\(\S+\)=$|\{\w+\}`", text, re.MULTILINE), (
            file.name
        )


def test_the_page_installs_as_the_readme_does_which_is_tried() -> None:
    """And a block is found to differ by a word, and by a number that does not depend on the noise."""
    (install,) = [text for language, text in blocks(LONG) if language == "sh"]
    readme = (EXAMPLES.parent / "README.md").read_text(encoding="utf-8")
    assert install.splitlines()[0] in readme
    assert difference("a 1.0\n[…]\nc", "a 1.001 b\nc", is_noisy=False) == ""
    assert difference("a 1.0\n[…]\nd", "a 1.001 b\nc", is_noisy=False) == "\nd"
    assert difference("a 1.0", "a 2.0", is_noisy=False) == "a 1.0"
    assert difference("a 1.0", "a 2.0", is_noisy=True) == ""
