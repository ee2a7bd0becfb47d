"""Texts that can be told from all else in a raw file, and what of them is left there."""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from eventstore import Sessions

RUN = 12
"""Bytes: what is shorter isn't looked for."""
MOST = 400  # windows of one run: a longer one repeats its word
_LETTERS = "QXZJVKWY"  # nothing else in a file has twelve of these in a row
_FOUND = re.compile(rb"[%b]{%d,}" % (_LETTERS.encode(), RUN), re.IGNORECASE)  # the index has them in small letters


class Secrets:
    """Words of which no two share a run, each given once, with all that were given."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._runs: set[str] = set()
        self.given: list[str] = []

    def word(self) -> str:
        """A new one, of 24 to 40 letters. Among some thousands, chance alone would make two share a run."""
        while True:
            word = "".join(self._chance.choices(_LETTERS, k=self._chance.randint(24, 40)))
            around = word + word[: RUN - 1]  # an image repeats it
            runs = {around[start : start + RUN] for start in range(len(word))}
            if self._runs.isdisjoint(runs):
                self._runs |= runs
                self.given.append(word)
                return word

    def text(self, words: int) -> str:
        """Several, with common words between them."""
        return " and so on ".join(self.word() for _ in range(words))

    def image(self) -> dict[str, Any]:
        """A part whose bytes are one of them, many times."""
        data = base64.b64encode(self.word().encode() * self._chance.choice((1, 200))).decode()
        return {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{data}"}


def split(sessions: Sessions, secrets: Iterable[str]) -> tuple[list[str], list[str]]:
    """(shown, gone): what a store still shows in living messages, metadata, summaries or images, and the rest."""
    found: list[Any] = []
    for info in sessions.list_sessions():
        session = sessions.session(info.session_id)
        found.append(info.metadata)
        found += [session.get_message(each.id) for each in session.tree()]
        found += [each.summary for each in session.get_compactions()]
    text = str(found)
    images = {base64.b64decode(image).decode() for image in re.findall(r"base64,([A-Za-z0-9+/=]+)", text)}
    words = set(re.findall(f"[{_LETTERS}]+", text))
    given = list(secrets)
    there = [word for word in given if word in words or any(word in image for image in images)]
    kept = set(there)
    return there, [word for word in given if word not in kept]


def left(files: Iterable[Path], secrets: Iterable[str]) -> list[str]:
    """Those of the secrets of which `RUN` bytes in a row, or more, are in these files."""
    runs = {run.upper() for file in files if file.exists() for run in _FOUND.findall(file.read_bytes())}
    windows = {bytes(run[i : i + RUN]).decode() for run in runs for i in range(min(len(run) - RUN + 1, MOST))}
    return [word for word in secrets if any(word[i : i + RUN] in windows for i in range(len(word) - RUN + 1))]
