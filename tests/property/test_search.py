"""Search against an oracle without an index, through any history of writes and searches; and any query at all."""

from __future__ import annotations

import itertools
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import attrs
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from eventstore import (
    Message,
    MessageInfo,
    SearchResult,
    Session,
    Sessions,
    forms,
    query,
    snippets,
    words,
)
from eventstore.driver import Connection
from eventstore.tokenizing import Tokenizer, grapheme_breaks
from tests.property import search_oracle
from tests.property.limits import small_search_limits
from tests.property.search_oracle import ALL, Asked
from tests.property.tables import postings


def message(message_id: str, text: str, role: str = "user") -> Message:
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": text}]}


# ---- histories


@attrs.frozen
class Step:
    """One write, or a search."""

    verb: str
    session: int
    number: int
    text: str
    asked: Asked

    def apply(self, sessions: Sessions, reader: Sessions) -> None:
        session = sessions.session(f"s{self.session}")
        ids = [info.id for info in session.tree()]
        chosen = ids[self.number % len(ids)] if ids else None
        if self.verb == "append":
            session.append_message(message(f"m{self.number}", self.text), parent_id=chosen)
        elif self.verb == "clear":
            session.clear_messages()
        elif self.verb == "delete session":
            sessions.delete_session(session.session_id)
        elif self.verb == "search":
            check(sessions, self.asked)
        elif self.verb == "search read-only":
            check(reader, self.asked)
        elif self.verb == "rebuild":
            sessions.rebuild()
        elif chosen is not None:
            self._change(session, chosen)

    def _change(self, session: Session, chosen: str) -> None:
        stored = session.get_message(chosen)
        assert stored is not None
        if self.verb == "update":
            session.update_message(message(chosen, self.text, f"role{self.number}"))
        elif self.verb == "grow":
            session.update_message(message(chosen, search_oracle.text_of(stored) + self.text))
        elif self.verb == "delete":
            session.delete_messages([chosen])
        elif self.verb == "delete branch":
            session.delete_branch(chosen)
        elif self.verb == "copy":
            copy = session.sessions.session("copy")
            copy.clear_messages()
            session.copy_to(copy)


VERBS = ("append", "append", "append", "update", "grow", "delete", "delete branch", "search", "search", "copy", "clear")


def histories() -> SearchStrategy[list[Step]]:
    step = st.builds(
        Step,
        st.sampled_from((*VERBS, "delete session", "search read-only", "rebuild")),
        st.integers(0, 1),
        st.integers(0, 5),
        search_oracle.texts(),
        search_oracle.asked(),
    )
    return st.lists(step, min_size=1, max_size=20)


def named(results: list[SearchResult]) -> set[tuple[str, str]]:
    found = {(result.session_id, result.id) for result in results}
    assert len(found) == len(results)
    return found


def handles(sessions: Sessions) -> list[Session]:
    return [sessions.session(info.session_id) for info in sessions.list_sessions()]


def check(sessions: Sessions, asked: Asked) -> None:
    """Search finds what the oracle finds, in the store and in each session, best first and as each message stands."""
    results = sessions.search(asked.typed, limit=None)
    assert named(results) == search_oracle.expected(handles(sessions), asked), asked.typed
    order = [(-result.score, -info(sessions, result).seq) for result in results]
    assert order == sorted(order)
    for result in results:
        stored = sessions.session(result.session_id).get_message(result.id)
        assert stored is not None
        assert (result.role, result.content) == (stored["role"], search_oracle.text_of(stored))
        assert result.created_at == info(sessions, result).created_at
        check_snippet(result)
    for session in handles(sessions):
        here = named(session.search(asked.typed, limit=None))
        assert here == {pair for pair in named(results) if pair[0] == session.session_id}
    assert sessions.search(asked.typed, limit=2) == results[:2]


def info(sessions: Sessions, result: SearchResult) -> MessageInfo:
    found = sessions.session(result.session_id).get_message_info(result.id)
    assert found is not None
    return found


def check_snippet(result: SearchResult) -> None:
    """A stretch of the content, cut between whole characters, with the highlights in order and inside."""
    line = result.content.translate(snippets._ON_A_LINE)
    shown = result.snippet.removeprefix("…") if result.snippet not in line else result.snippet
    shown = shown if shown in line else shown.removesuffix("…")
    assert shown in line
    assert len(shown) <= snippets.WIDTH
    breaks = set(grapheme_breaks(line))
    assert any(
        start in breaks and start + len(shown) in breaks
        for start in range(len(line) - len(shown) + 1)
        if line.startswith(shown, start)
    )
    end, edges = 0, set(grapheme_breaks(result.snippet))
    for low, high in result.highlights:
        assert end <= low < high <= len(result.snippet)
        assert {low, high} <= edges
        end = high
    assert result.highlights


@given(histories(), st.sampled_from(("current", "all")))
def test_it_finds_what_is_there_after_any_history(history: list[Step], retain: str) -> None:
    with small_search_limits(), TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        with Sessions(path, durability="normal", retain=retain) as sessions:  # type: ignore[arg-type]
            with Sessions(path, read_only=True) as reader:
                for step in history:
                    step.apply(sessions, reader)
                    assert sessions.verify().ok
                before = postings(path)
                for asked in ALL:
                    check(reader, asked)
                assert postings(path) == before
            for asked in ALL:
                check(sessions, asked)
            before = postings(path)
            assert before
            sessions.rebuild()
            assert postings(path) == before
            assert sessions.verify().problems == ()


# ---- snippets

STRETCHES = (
    "word ",
    "x" * 9,
    "\r\n",
    "\n\n",
    "数据",
    "管",
    "e\u0301",
    "👨‍👩‍👧‍👦",
    "🇩🇪",
    "🇫",
    "한",
    "\u1112\u1161\u11ab",
    "\u0600",
    "ि",
    "\ud83d",
)


@given(
    st.lists(st.sampled_from(STRETCHES) | st.text(max_size=3), min_size=2, max_size=9), st.integers(1, 90), st.data()
)
def test_a_long_text_shows_what_looking_at_all_of_it_would(pieces: list[str], times: int, data: st.DataObject) -> None:
    """Snippets are cut from the neighbourhood of what matched, at the same places as from the whole text."""
    text = "".join(pieces) * times
    for at in data.draw(st.lists(st.integers(0, len(text)), min_size=1, max_size=3)):
        text = text[:at] + data.draw(st.sampled_from((" needle ", " needle", "needle", " thread of "))) + text[at:]
    connection = Connection(":memory:")
    try:
        stemming, plain = Tokenizer(connection), Tokenizer(connection, stems=False)
        asked = query.parse(data.draw(st.sampled_from(("needle", "thread needle", "need*"))), stemming, plain)
        assert asked is not None
        finder = snippets.Finder(asked, stemming, plain)
        matches = finder.look(text).matches
        shown = finder.cut(text, matches)
        with patch.object(snippets, "_narrowed", lambda block: block):
            assert finder.cut(text, matches) == shown
    finally:
        connection.close()


# ---- any query, any text

OPERATORS = (*"^*\"'(){}-+\\\0;:,", "AND", "OR", "NOT", "NEAR(", "title:")


def queries() -> SearchStrategy[str]:
    pieces = st.sampled_from(OPERATORS) | st.sampled_from(search_oracle.WORDS) | st.text(max_size=5) | st.just(" ")
    return st.text() | st.lists(pieces, max_size=12).map("".join)


@given(queries())
@example('"')
@example('" "" *')
@example("\0")
@example("\ud83d")
@example("x" * 100_000)
@example("数" * 50_000)
@example("ab, " * 25_000)
@example('"' * 99_999)
@example("*" * 100_000)
@example(" ".join(f"word{n}" for n in range(12_000)))
@example(" ".join(f"w{n}*" for n in range(2_000)))
def test_no_query_is_an_error(query: str) -> None:
    with Sessions() as sessions:
        session = sessions.session()
        session.append_message(message("a", "fox AND wolf"))
        session.append_message(message("b", query))
        for found in (sessions.search(query), session.search(query)):
            assert {result.id for result in found} <= {"a", "b"}


@settings(max_examples=50)
@given(st.text(max_size=60) | queries() | search_oracle.texts())
@example("我们重跑数据管道后修复了")
@example("步2 重跑gen-itgc后50条")
@example("C++ in 20.04, don't: /usr/local/lib agentic-os grammar::fa snake_case")
@example("Crème brûlée, Ｆｕｌｌ ｗｉｄｔｈ ﬁle, straße, İstanbul, ΌΔΟΣ")
@example("안녕하세요 こんにちは ﾃｽﾄ สวัสดีครับ हिन्दी مَرحَبًا")
@example("running runs happily conditional universities a" * 3)
def test_a_text_is_found_by_its_own_words(text: str) -> None:
    """Each word of a text finds it, and so does the whole text, as words and as a phrase."""
    with Sessions() as sessions:
        session = sessions.session()
        session.append_message(message("a", text))
        parts = text.replace('"', " ").replace("“", " ").replace("”", " ").replace("„", " ").split()
        has_words = [part for part in parts if has_word(part)]
        for part in has_words:
            assert session.search(part), part
        for whole in (text, " ".join(reversed(parts)), f'"{" ".join(parts)}"'):
            assert bool(session.search(whole)) == bool(has_words)
        for result in session.search(text):
            check_snippet(result)


def has_word(text: str) -> bool:
    connection = Connection(":memory:")
    try:
        return bool(Tokenizer(connection).words(words.plain(text)))
    finally:
        connection.close()


ENDINGS = (
    *("", "s", "es", "ed", "ing", "y", "ies", "er", "ly", "ally", "ation", "ations", "ational", "ization", "izer"),
    *("ness", "fulness", "ousness", "iveness", "ful", "ality", "ivity", "ability", "ibility", "ence", "ency", "able"),
    *("ably", "ement", "ment", "ent", "ion", "ism", "ist", "ative", "icate", "ical", "icity", "alize", "ble", "logy"),
)
BASES = (
    "hop",
    "agre",
    "fall",
    "connect",
    "condit",
    "poss",
    "dur",
    "fil",
    "rat",
    "fl",
    "destro",
    "sky",
    "x20",
    "a",
    "yy",
)


@st.composite
def english(draw: DrawFn) -> str:
    """Words as the stemmer knows them, and some that no one says."""
    base = draw(st.sampled_from(BASES) | st.text("abeilstyz0", min_size=1, max_size=6))
    return base + "".join(draw(st.lists(st.sampled_from(ENDINGS), max_size=2)))


@settings(max_examples=100)
@given(
    english(),
    st.lists(english() | st.sampled_from(("—", "’s", "_", "\0", "🤔", "\x7f", ".", "É", "İ", "ß"))),
    st.data(),
)
def test_forms_of_a_word_are_those_that_the_tokenizer_finds(word: str, others: list[str], data: st.DataObject) -> None:
    """Looking for words by their beginning is quicker than to tokenize, and says the same."""
    text = "".join(data.draw(st.permutations([word, *others, word.upper(), " ", " ", "-", "\n"])))
    connection = Connection(":memory:")
    try:
        stemming, prepared = Tokenizer(connection), words.plain(text)
        (stem,) = stemming.words(word)
        spans = stemming.spans(prepared)
        if prepared.isascii():
            assert forms.count_words(prepared) == len(spans)
            if forms.Forms.is_quick(stem):
                found = forms.Forms(3, stem, stemming).matches(prepared.lower())
                assert found == [(start, end, 3) for start, end, each in spans if each == stem]
    finally:
        connection.close()


@settings(max_examples=50)
@given(english())
def test_every_beginning_of_any_word_finds_it(word: str) -> None:
    """However long the word's stem is; and what is longer finds nothing."""
    with Sessions() as sessions:
        session = sessions.session()
        session.append_message(message("a", f"before {word} after"))
        for length in range(1, len(word) + 1):
            assert session.search(f"{word[:length]}*"), word[:length]
        assert session.search(f"{word}0*") == []


def test_every_beginning_of_short_words_finds_them_all_and_no_others() -> None:
    """Stems that are a letter or two, and stems that would have another stem if they were words."""
    bases = ["".join(letters) for size in (1, 2) for letters in itertools.product("abeys", repeat=size)]
    endings = ("", "s", "es", "ed", "ing", "ings", "y", "ies", "ness", "ful", "ative", "yed")
    every = sorted({base + ending for base in bases for ending in endings})
    with Sessions() as sessions:
        session = sessions.session()
        session.append_messages([message(word, f"1 {word} 2") for word in every])
        for beginning in {word[:length] for word in every for length in range(1, len(word) + 1)}:
            found = {result.id for result in session.search(f"{beginning}*", limit=len(every))}
            assert found == {word for word in every if word.startswith(beginning)}, beginning


STEMMED = ("connection", "conditional", "happily", "relational", "hopping", "carrying", "universities", "generously")


@given(st.sampled_from(STEMMED), st.data())
def test_every_beginning_of_a_word_finds_it(word: str, data: st.DataObject) -> None:
    """Also those that are longer than the word's stem; and nothing is found that doesn't begin so."""
    beginning = word[: data.draw(st.integers(1, len(word)))]
    with Sessions() as sessions:
        session = sessions.session()
        session.append_messages([message("a", f"some {word} here"), message("b", "cond hop relat happi carri univers")])
        results = session.search(f"{beginning}*")
        assert "a" in {result.id for result in results}
        others = any(other.startswith(beginning) for other in ["cond", "hop", "relat", "happi", "carri", "univers"])
        assert ("b" in {result.id for result in results}) == others
