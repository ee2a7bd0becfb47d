"""The pages of the documentation, and the code blocks, links and sections in them. Pure reading, no running.

A block is fenced by three backticks and a word that says what it is: `python` and `sh` blocks are run, all others are
for the eye. A `python notest` block is not run either, and the line above it says why.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count
from pathlib import Path

import attrs

ROOT = Path(__file__).parents[2]
_FENCE = re.compile(r"^```(.*)$")
_HEADING = re.compile(r"^(#+) +(.*?) *$")
_LINK = re.compile(r"\]\(([^)\s]+)\)")


@attrs.frozen
class Block:
    """A fenced block: its word, its text, the line that its text begins on (from 1), and the line above the fence."""

    kind: str
    text: str
    line: int
    above: str


@attrs.frozen
class Page:
    """One Markdown file."""

    path: Path
    text: str

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return self.path.relative_to(ROOT).as_posix()

    def blocks(self) -> list[Block]:
        """Its fenced blocks, in order."""
        found: list[Block] = []
        lines = self.text.splitlines()
        opened: int | None = None
        for number, line in enumerate(lines):
            fence = _FENCE.match(line)
            if fence is None:
                continue
            if opened is None:
                opened = number
                continue
            text = "\n".join(lines[opened + 1 : number]) + "\n"
            above = next((each for each in reversed(lines[:opened]) if each.strip()), "")
            found.append(Block(lines[opened][3:].strip(), text, opened + 2, above))
            opened = None
        if opened is not None:
            raise AssertionError(f"{self.name}, line {opened + 1}: a block that doesn't end")
        return found

    def prose(self) -> Iterator[tuple[int, str]]:
        """(number, text) of its lines outside of blocks."""
        inside = False
        for number, line in enumerate(self.text.splitlines(), 1):
            if line.startswith("```"):
                inside = not inside
            elif not inside:
                yield number, line

    def links(self) -> list[tuple[int, str]]:
        """(line, target) of its links to other files and to headings of its own."""
        return [
            (number, target)
            for number, line in self.prose()
            for target in _LINK.findall(line)
            if "://" not in target and not target.startswith("mailto:")
        ]

    def headings(self) -> list[str]:
        """Its headings, without marks."""
        return [found[2].replace("`", "") for _, line in self.prose() if (found := _HEADING.match(line))]

    def anchors(self) -> set[str]:
        """What a link's `#` may name: headings in lower case, spaces as hyphens, without other signs; later ones of
        the same text are numbered."""
        found: set[str] = set()
        for heading in self.headings():
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            again = (f"{anchor}-{number}" for number in count(1))
            found.add(next(each for each in chain([anchor], again) if each not in found))
        return found

    def sections(self) -> dict[str, str]:
        """Each heading's text, up to the next heading of any level, blocks included."""
        found: dict[str, list[str]] = {}
        current: list[str] = []
        inside = False
        for line in self.text.splitlines():
            inside ^= line.startswith("```")
            heading = None if inside else _HEADING.match(line)
            if heading:
                current = found.setdefault(heading[2].replace("`", ""), [])
            else:
                current.append(line)
        return {heading: "\n".join(lines) for heading, lines in found.items()}


def read_page(path: Path) -> Page:
    """A page from its file."""
    return Page(path, path.read_text(encoding="utf-8"))


def all_pages() -> list[Page]:
    """The README, the change list and every page of `docs/`."""
    paths = [ROOT / "README.md", ROOT / "CHANGES.md", *sorted((ROOT / "docs").rglob("*.md"))]
    return [read_page(path) for path in paths if path.exists()]


def reference() -> dict[str, Page]:
    """The reference's pages, by name."""
    return {path.stem: read_page(path) for path in sorted((ROOT / "docs" / "reference").glob("*.md"))}
