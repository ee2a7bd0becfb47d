"""What search costs, beside FTS5 and nothing else: making the index, its size, writes beside it, and one search."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, count
from pathlib import Path

import apsw

from eventstore import Message, Sessions
from eventstore.tokenizing import fts5_tokenize_option
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import MESSAGE_BYTES, opened, serialized
from tests.benchmarks.measure import Line, compare_bytes, interleave, seconds, seconds_each

_VOCABULARY = 20_000
_CHARACTERS = 3_500
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_BATCH = 5_000
_FOUND = 20
_RARE = ("searched once", 1), ("searched in a few", 12)


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Words, and how often they come, summed up: as in a language, the n-th is n times rarer than the first."""
    chance = random.Random(0)
    words = ["".join(chance.choices(_LETTERS, k=chance.choice((2, 3, 4, 5, 6, 7, 8, 9)))) for _ in range(_VOCABULARY)]
    return words, list(accumulate(1 / (rank + 1) for rank in range(_VOCABULARY)))


def talk(number: int, seed: int = 0) -> list[Message]:
    """New messages in words of which some are rare, as in a language."""
    words, frequencies = _vocabulary()
    chance = random.Random(seed)
    made: list[Message] = []
    for turn in range(number):
        text = " ".join(chance.choices(words, cum_weights=frequencies, k=60))
        message: Message = {
            "id": f"{seed}-{turn:08}",
            "role": ("user", "assistant")[turn % 2],
            "parts": [{"type": "text", "text": text}],
        }
        message["parts"][0]["text"] = text[: MESSAGE_BYTES - len(serialized(message)) + len(text)]
        made.append(message)
    for word, times in _RARE:
        for turn in range(times):
            place = made[(turn * 7919 + 11) % number]["parts"][0]
            place["text"] = f"{_rare(word)} {place['text']}"[: len(place["text"])]
    return made


def _rare(name: str) -> str:
    return name.replace(" ", "")


def text_of(message: Message) -> str:
    text: str = message["parts"][0]["text"]
    return text


def _fill(path: Path, given: list[Message]) -> None:
    with opened(path) as sessions:
        for start in range(0, len(given), _BATCH):
            sessions.session().append_messages(given[start : start + _BATCH])


@contextmanager
def _raw(path: Path, content: str) -> Iterator[apsw.Connection]:
    """A raw database with one FTS5 table, of the same tokenizer."""
    connection = apsw.Connection(str(path))
    try:
        connection.pragma("journal_mode", "wal")
        connection.pragma("synchronous", "normal")
        connection.execute(f'CREATE VIRTUAL TABLE f USING fts5(text{content}, tokenize="{fts5_tokenize_option()}")')
        yield connection
    finally:
        connection.close()


def _index(connection: apsw.Connection, given: list[Message]) -> None:
    with connection:
        connection.executemany(
            "INSERT INTO f(rowid, text) VALUES (?, ?)", ((n, text_of(each)) for n, each in enumerate(given))
        )


def search_first(bench: Bench) -> list[Line]:
    """The first search, and what its index adds to the file."""
    number = bench.sizes.history
    given = talk(number)
    filled = bench.folder.new_file()
    _fill(filled, given)
    sizes = [filled.stat().st_size]

    def ours() -> float:
        path = bench.folder.new_file()
        path.write_bytes(filled.read_bytes())
        with opened(path) as sessions:
            taken = seconds(lambda: sessions.search(_rare("searched once")))
        sizes.append(path.stat().st_size)
        path.unlink()
        return taken

    def floor() -> float:
        path = bench.folder.new_file()
        with _raw(path, ", content=''") as connection:
            taken = seconds(lambda: _index(connection, given))
        path.unlink()
        return taken

    what = f"first search in {number:,} messages"
    line = interleave(what, "FTS5 indexing the texts", ours, floor, runs=bench.sizes.few_runs, target=3)
    texts = sum(len(text_of(message)) for message in given)
    return [line, compare_bytes(f"{what}: the index", "the texts", sizes[-1] - sizes[0], texts, 1 / 3)]


def _chinese(number: int, length: int) -> list[Message]:
    """New messages of that many characters, of which some are rare, as in a language."""
    chance = random.Random(length)
    characters = [chr(0x4E00 + 5 * rank) for rank in range(_CHARACTERS)]
    frequencies = list(accumulate(1 / (rank + 3) for rank in range(_CHARACTERS)))
    texts = ("".join(chance.choices(characters, cum_weights=frequencies, k=length)) for _ in range(number))
    return [
        {"id": f"{n:08}", "role": "user", "parts": [{"type": "text", "text": text}]} for n, text in enumerate(texts)
    ]


def search_share(bench: Bench) -> list[Line]:
    """What the index adds to the file where words are short: Chinese, each character of three bytes one."""
    lines = []
    for length, target in ((15, None), (100, None), (500, 1 / 3)):
        given = _chinese(bench.sizes.history // 10, length)
        path = bench.folder.new_file()
        _fill(path, given)
        size = path.stat().st_size
        with opened(path) as sessions:
            sessions.search(text_of(given[0])[0])
        texts = sum(len(text_of(message).encode()) for message in given)
        what = f"the index of Chinese texts of {length} characters"
        lines.append(compare_bytes(what, "the texts", path.stat().st_size - size, texts, target))
    return lines


def search_append(bench: Bench) -> list[Line]:
    """One message in a transaction of its own, in a store that has an index, against one that hasn't."""
    number = bench.sizes.normal_appends
    seeds = count(1)
    given: list[Message] = []
    with opened(bench.folder.new_file()) as searched, opened(bench.folder.new_file()) as plain:
        for sessions in (searched, plain):
            sessions.session().append_messages(talk(number))
        searched.search(_rare("searched once"))

        def append(sessions: Sessions) -> float:
            session = sessions.session()
            return seconds(lambda: [session.append_message(message) for message in given]) / number

        def ours() -> float:
            given[:] = talk(number, seed=next(seeds))
            return append(searched)

        what = "append_message with an index"
        return [interleave(what, "without", ours, lambda: append(plain), runs=bench.sizes.runs, target=2)]


def search_word(bench: Bench) -> list[Line]:
    """A word in a store whose index is up to date, against FTS5 with the text and a snippet of the best."""
    number = bench.sizes.history
    given = talk(number)
    filled = bench.folder.new_file()
    _fill(filled, given)
    best = (
        "SELECT rowid, text, snippet(f, 0, '[', ']', '…', 20), rank FROM f "
        f"WHERE f MATCH ? ORDER BY rank LIMIT {_FOUND}"
    )
    lines = []
    common = _vocabulary()[0]
    asked: list[tuple[str, str, float | None]] = [(f"a word in {times}", _rare(name), 2) for name, times in _RARE]
    for word in (common[200], common[0]):
        times = sum(word in text_of(message).split() for message in given)
        asked.append((f"a word in {times:,}", word, None))
    with opened(filled) as sessions, _raw(bench.folder.new_file(), "") as connection:
        _index(connection, given)
        for what, word, target in asked:
            sessions.search(word)
            calls = bench.sizes.calls if target is not None else 3

            def ours(word: str = word, calls: int = calls) -> float:
                return seconds_each([lambda: sessions.search(word)] * calls)

            def floor(word: str = word, calls: int = calls) -> float:
                return seconds_each([lambda: connection.execute(best, (word,)).fetchall()] * calls)

            lines.append(
                interleave(f"search in {number:,}: {what}", "FTS5", ours, floor, runs=bench.sizes.runs, target=target)
            )
    return lines
