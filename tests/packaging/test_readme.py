"""The README's two commands are the ones that .ci/run runs, so they stay true."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def block_after(marker: str, text: str) -> str | None:
    """The code block that follows the comment ``<!-- marker -->`` in a Markdown text."""
    found = re.search(rf"^<!-- {marker} -->\n```sh\n(.+?)\n```$", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else None


def test_ci_runs_the_commands_of_the_readme() -> None:
    for marker, pieces in (
        ("main", ("-m venv .venv", "'.[examples]'", "mmopt release")),
        ("test", ("-m venv .venv", "-e '.[test]'", ".venv/bin/pytest")),
    ):
        command = block_after(marker, (ROOT / "README.md").read_text(encoding="utf-8"))
        assert command is not None, f"README.md has no ```sh block right after <!-- {marker} -->"
        # Debian's Python refuses to install outside a virtual environment, so each command makes its own.
        assert all(piece in command for piece in pieces), command
        assert readme_function(marker, ROOT).stdout == command + "\n"


def test_ci_stops_when_the_readme_has_no_such_command(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n\n<!-- mian -->\n```sh\ntrue\n```\n", encoding="utf-8")
    done = readme_function("main", tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "README.md has no code block after the comment <!-- main -->\n"


def readme_function(marker: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the shell function ``readme`` of .ci/steps.sh, without the rest of that script."""
    script = (ROOT / ".ci" / "steps.sh").read_text(encoding="utf-8")
    function = re.search(r"^readme\(\) \{$.+?^\}$", script, re.MULTILINE | re.DOTALL)
    assert function is not None
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", f"{function[0]}\nreadme {marker}"],
        capture_output=True,
        text=True,
        cwd=folder,
    )
