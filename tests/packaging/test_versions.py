"""One version and one date everywhere that states them; the page on citing names every program."""

import re
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parents[2]
CITING = (ROOT / "examples" / "site" / "pages" / "how-to-cite.md").read_text(encoding="utf-8")


def test_version_and_date_agree() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    unreleased, released = re.findall(r"^## \[(.+?)\](?: - (\S+))?$", changes, re.MULTILINE)[:2]
    assert unreleased == ("Unreleased", "")
    assert released == (version, str(citation["date-released"]))
    assert str(citation["version"]) == version
    assert f"version = {{{version}}}," in CITING and f"year    = {{{released[1][:4]}}}," in CITING


def test_every_program_has_its_authors_on_the_page_on_citing() -> None:
    rows = [line.split("|")[1:3] for line in CITING.splitlines() if line.startswith("| `")]
    for file in sorted((ROOT / "programs").glob("*.program")):
        name, (source,) = file.stem, re.findall(r'^source "(.+)"$', file.read_text("utf-8"), re.MULTILINE)
        papers = " ".join(paper for programs, paper in rows if f"`{name}`" in programs)
        authors = re.findall(r"([A-Z][\w-]+)(?:, [A-Z][\w-]+)*: ", source)
        assert authors and not [author for author in authors if author not in papers], name
