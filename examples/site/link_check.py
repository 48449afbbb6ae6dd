"""Links of a built site: each leads to a file and an anchor that are there; nothing is loaded from elsewhere.

Pages are read as files, without a network: what an ``<a>`` names elsewhere is listed, not fetched.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

__all__ = ["Links", "check_links"]

# What a browser fetches by itself, and where it says so. A link is followed by hand only.
LOADED = {"src", "srcset", "data", "poster", "background"}
LOADING_LINKS = {"stylesheet", "icon", "preload", "prefetch", "modulepreload", "manifest", "dns-prefetch"}
_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)['\"]?\s*\)|@import\s+['\"]([^'\"]+)['\"]")
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)


@dataclass(frozen=True)
class Links:
    """``broken`` and ``loaded`` are lines of "page: what"; ``elsewhere`` are the addresses of other sites."""

    pages: int
    followed: int
    broken: tuple[str, ...]
    loaded: tuple[str, ...]
    elsewhere: tuple[str, ...]


@dataclass
class _Page(HTMLParser):
    """The ``anchors`` and ``links`` of a page, and what it makes a browser load."""

    anchors: set[str] = field(default_factory=set)
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    in_style: bool = False

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = {name: value or "" for name, value in attrs}
        self.anchors |= {known[name] for name in ("id", "name") if name in known}
        self.in_style = tag == "style"
        self.loads += styled(known.get("style", ""))
        for name, value in known.items():
            if name == "srcset":
                self.loads += [part.split()[0] for part in value.split(",") if part.strip()]
            elif name in LOADED:
                self.loads.append(value)
            elif name.endswith("href"):
                is_loaded = tag == "link" and LOADING_LINKS & set(known.get("rel", "").lower().split())
                (self.loads if is_loaded or tag in ("use", "image") else self.links).append(value)

    def handle_endtag(self, tag: str) -> None:
        self.in_style = False

    def handle_data(self, data: str) -> None:
        if self.in_style:
            self.loads += styled(data)


def styled(css: str) -> list[str]:
    """The addresses that a style sheet loads."""
    return [one or other for one, other in _URL.findall(_COMMENT.sub("", css))]


def check_links(site: Path) -> Links:
    """Read every page and style sheet of a folder."""
    pages = {file: _read(file) for file in sorted(site.rglob("*.html"))}
    broken, loaded, elsewhere, followed = [], [], set(), 0
    for file, page in pages.items():
        where = file.relative_to(site)
        for address in page.loads:
            loaded += [f"{where}: loads {address}" for _ in _outside(address)]
        for address in page.links:
            elsewhere |= set(_outside(address))
        for address in (*page.links, *page.loads):
            if not _is_within(address):
                continue
            followed += 1
            missing = _missing(site, file, address, pages)
            broken += [f"{where}: {address} ({missing})"] if missing else []
    for file in sorted(site.rglob("*.css")):
        for address in styled(file.read_text(encoding="utf-8")):
            where = file.relative_to(site)
            loaded += [f"{where}: loads {address}" for _ in _outside(address)]
            if _is_within(address) and not (file.parent / unquote(urlsplit(address).path)).exists():
                broken.append(f"{where}: {address} (no such file)")
    return Links(len(pages), followed, tuple(broken), tuple(loaded), tuple(sorted(elsewhere)))


def _read(file: Path) -> _Page:
    page = _Page()
    page.feed(file.read_text(encoding="utf-8"))
    page.close()
    return page


def _outside(address: str) -> Iterator[str]:
    """The address, without a place in it, if it is that of another site: not of a file, and not data."""
    if address.startswith("//") or urlsplit(address).scheme in ("http", "https", "ftp", "ws", "wss"):
        yield urldefrag(address).url


def _is_within(address: str) -> bool:
    """Whether an address is one of this site, not of another nor data or a message."""
    return not urlsplit(address).scheme and not address.startswith("//")


def _missing(site: Path, file: Path, address: str, pages: dict[Path, _Page]) -> str:
    """Why an address within the site leads nowhere; "" if it does lead somewhere."""
    parts = urlsplit(address)
    path = unquote(parts.path)
    target = (
        (site / path.lstrip("/") if path.startswith("/") else file.parent / path).resolve() if path else file
    )
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return "no such file"
    if path and not target.is_relative_to(site.resolve()):
        return "outside the site"
    anchor = unquote(parts.fragment)
    page = pages.get(target) or pages.get(site / target.relative_to(site.resolve())) if path else pages[file]
    return "no such anchor" if anchor and page is not None and anchor not in page.anchors else ""
