"""Search as a person uses it: any language, what results show, filters, order, sizes, and who else is at the store."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

import apsw
import pytest

from eventstore import (
    ImportRow,
    InvalidArgument,
    SearchResult,
    Session,
    Sessions,
    StoreClosed,
    StoreView,
    index,
    snippets,
    texts,
    weighing,
    words,
)
from tests.unit.talk import Heard, message

TALK = {
    "fox": "The quick brown fox jumps over the lazy dog",
    "deploy": "Deployments failed: connections were refused by the database",
    "zh": "我们重跑数据管道后修复了",
    "mixed": "步2 重跑gen-itgc后50条",
    "ja": "昨日カタカナとひらがなを書いた",
    "ko": "안녕하세요 세계",
    "th": "สวัสดีครับ ไปกินข้าว",
    "hi": "नमस्ते दुनिया, हिन्दी में",
    "ar": "مَرحَبًا بالعالم",
    "fr": "Crème brûlée à la carte",
    "decomposed": "cafe\u0301 au lait",
    "wide": "ＦＵＬＬ ｗｉｄｔｈ １２３ ｱｲｳ",
    "code": "path /usr/local/lib, C++ and 20.04, don't, grammar::fa, agentic-os, snake_case_name",
    "nul": "before\0after half\ud83d",
    "ru": "Привет, мир! Ещё йогурт",
    "zwnj": "می\u200cخواهم",
    "glued": "Great🤔idea—it’s “quoted”…200₿🎉party🏳️‍🌈pride ½ durability of the possibilities",
}


@pytest.fixture(scope="module", params=["memory", "file"])
def spoken(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """The talk, where nobody writes."""
    place = ":memory:" if request.param == "memory" else tmp_path_factory.mktemp("spoken") / "store.db"
    with Sessions(place, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(each, text) for each, text in TALK.items()])
        yield session


@pytest.fixture
def talk(session: Session) -> Session:
    session.append_messages([message(each, text) for each, text in TALK.items()])
    return session


def found(results: list[SearchResult]) -> list[str]:
    return [result.id for result in results]


def marked(result: SearchResult) -> list[str]:
    return [result.snippet[start:end] for start, end in result.highlights]


@pytest.mark.parametrize(
    ("typed", "ids", "marks"),
    [
        ("fox", ["fox"], ["fox"]),
        ("foxes jumping", ["fox"], ["fox", "jumps"]),
        ("dog lazy fox", ["fox"], ["fox", "lazy", "dog"]),
        ('"lazy dog"', ["fox"], ["lazy dog"]),
        ('"dog lazy"', [], []),
        ("deployment failing connection", ["deploy"], ["Deployments", "failed", "connections"]),
        ("connectio*", ["deploy"], ["connections"]),
        ("数据管道", ["zh"], ["数据管道"]),
        ("修复", ["zh"], ["修复"]),
        ("了", ["zh"], ["了"]),
        ("重跑", ["mixed", "zh"], ["重跑"]),
        ("管据", [], []),
        ("itgc", ["mixed"], ["itgc"]),
        ("gen 50", ["mixed"], ["gen", "50"]),
        ("カナ", ["ja"], ["カナ"]),
        ("ひらがな", ["ja"], ["ひらがな"]),
        ("昨", ["ja"], ["昨"]),
        ("하세", ["ko"], ["하세"]),
        ("세계", ["ko"], ["세계"]),
        ("กิน", ["th"], ["กิน"]),
        ("हिन्दी", ["hi"], ["हिन्दी"]),
        ("مرحبا", ["ar"], ["مَرحَبًا"]),
        ("creme BRULEE", ["fr"], ["Crème", "brûlée"]),
        ("crème", ["fr"], ["Crème"]),
        ("café", ["decomposed"], ["cafe\u0301"]),
        ("cafe", ["decomposed"], ["cafe\u0301"]),
        ("full width 123", ["wide"], ["ＦＵＬＬ", "ｗｉｄｔｈ", "１２３"]),
        ("アイ", ["wide"], ["ｱｲ"]),
        ("C++", ["code"], ["C"]),
        ("20.04", ["code"], ["20.04"]),
        ("don't", ["code"], ["don't"]),
        ("don’t", ["code"], ["don't"]),
        ("grammar::fa", ["code"], ["grammar::fa"]),
        ("agentic-os", ["code"], ["agentic-os"]),
        ("/usr/local/lib", ["code"], ["usr/local/lib"]),
        ("snake_case_name", ["code"], ["snake_case_name"]),
        ("case", ["code"], ["case"]),
        ("title:x", [], []),
        ("a-b-c", [], []),
        ("-x", [], []),
        ("before after", ["nul"], ["before", "after"]),
        ("half", ["nul"], ["half"]),
        ("ПРИВЕТ еще иогурт", ["ru"], ["Привет", "Ещё", "йогурт"]),
        ("میخواهم", ["zwnj"], ["می\u200cخواهم"]),
        ("great", ["glued"], ["Great"]),
        ("ideas party", ["glued"], ["idea", "party"]),
        ("pride 200", ["glued"], ["200", "pride"]),
        ("it's quoted", ["glued"], ["it’s", "quoted"]),
        ('"great🤔idea"', ["glued"], ["Great🤔idea"]),
        ("🤔", [], []),
        ("durabili* possibili*", ["glued"], ["durability", "possibilities"]),
        ("nowhere", [], []),
        ("", [], []),
        ("  ", [], []),
        ("?!", [], []),
    ],
)
def test_any_language(spoken: Session, typed: str, ids: list[str], marks: list[str]) -> None:
    results = spoken.search(typed)
    assert found(results) == ids
    if results:
        assert marked(results[0]) == marks


def test_what_a_result_holds(sessions: Sessions) -> None:
    parts: list[Any] = [
        {"type": "text", "text": ""},
        {"type": "text", "text": "first part"},
        {"type": "reasoning", "text": "hidden"},
        {"type": "text", "text": "second\n\tpart"},
        {"type": "tool-x", "input": "toolword", "output": "outputword"},
        {"type": "text", "text": 5},
        {"type": "text"},
        {"type": "file", "filename": "filename.txt"},
    ]
    when = datetime(2020, 5, 17, tzinfo=UTC)
    made: Any = {"id": "a", "role": "assistant", "parts": parts}
    sessions.session("s").import_message(made, parent_id=None, created_at=when)
    (result,) = sessions.search("part second")
    assert result == SearchResult(
        "s",
        "a",
        "assistant",
        "first part second\n\tpart",
        "first part second  part",
        ((6, 10), (11, 17), (19, 23)),
        when,
        result.score,
    )
    assert result.score > 0
    told = result.to_dict()
    assert json.loads(json.dumps(told)) == told
    assert (told["highlights"][0], told["created_at"]) == ([6, 10], "2020-05-17T00:00:00+00:00")
    for absent in ("hidden", "toolword", "outputword", "filename", "5"):
        assert sessions.search(absent) == []


# ---- order, filters, limits


def test_best_first_and_of_equal_ones_the_newest(sessions: Sessions) -> None:
    session = sessions.session()
    session.append_messages(
        [
            message("a", "apple banana cherry date elderberry fig grape"),
            message("b", "apple"),
            message("c", "apple apple banana"),
            message("d", "nothing"),
        ]
    )
    assert found(session.search("apple")) == ["b", "c", "a"]
    assert found(session.search("banana")) == ["c", "a"]
    session.append_messages([message(f"s{number}", "same words here") for number in range(30)])
    newest = [f"s{number}" for number in range(29, -1, -1)]
    assert found(session.search("same")) == newest[:20]
    assert found(session.search("same", limit=None)) == newest
    sessions.rebuild()
    assert found(session.search("same", limit=None)) == newest
    session.update_message(message("s3", "same words here", other=True))
    assert found(session.search("same", limit=None)) == newest
    assert len({result.score for result in session.search("same", limit=None)}) == 1


def test_limits(talk: Session) -> None:
    assert talk.search("重跑", limit=0) == []
    assert found(talk.search("重跑", limit=1)) == ["mixed"]
    assert found(talk.search("重跑", limit=None)) == ["mixed", "zh"]


@pytest.mark.parametrize(
    "arguments",
    [
        {"query": None},
        {"query": b"fox"},
        {"query": "fox", "limit": -1},
        {"query": "fox", "limit": 1.5},
        {"query": "fox", "limit": True},
        {"query": "fox", "role": 1},
        {"query": "fox", "since": datetime(2020, 1, 1)},
        {"query": "fox", "until": "yesterday"},
        {"query": "", "limit": -1},
    ],
)
def test_arguments_that_cannot_be_meant(sessions: Sessions, arguments: dict[str, Any]) -> None:
    for search in (sessions.search, sessions.session().search):
        with pytest.raises(InvalidArgument):
            search(**arguments)


def test_filters(sessions: Sessions) -> None:
    start = datetime(2024, 1, 1, tzinfo=UTC)
    rows = [
        ImportRow(
            message(f"m{day}", "word", role=("user", "assistant")[day % 2]),
            parent_id=None,
            created_at=start + timedelta(days=day),
        )
        for day in range(6)
    ]
    for name in ("a", "b"):
        sessions.session(name).import_messages(rows)
    session = sessions.session("a")
    assert found(session.search("word", role="assistant")) == ["m5", "m3", "m1"]
    assert session.search("word", role="\ud83d") == session.search("word", role="system") == []
    assert found(session.search("word", since=start + timedelta(days=4))) == ["m5", "m4"]
    assert found(session.search("word", until=start + timedelta(days=2))) == ["m1", "m0"]
    between: dict[str, Any] = {"since": start + timedelta(days=1), "until": start + timedelta(days=4)}
    assert found(session.search("word", role="user", **between)) == ["m2"]
    assert [r.session_id for r in sessions.search("word", role="user", **between)] == ["b", "a"]
    assert sessions.session("nobody").search("word") == []


def test_a_change_of_times_shows_and_an_update_changes_none(sessions: Sessions) -> None:
    session, years = sessions.session(), [datetime(year, 1, 1, tzinfo=UTC) for year in (2020, 2021, 2022)]
    session.import_message(message("a", "word"), parent_id=None, created_at=years[0])
    assert found(session.search("word", until=years[1])) == ["a"]
    session.update_message(message("a", "word again"))
    for search in (session.search, sessions.search):
        (result,) = search("again", until=years[1])
        assert (result.id, result.created_at) == ("a", years[0])
        assert search("word", since=years[1]) == []
    session.delete_messages(["a"])
    session.import_message(message("a", "word"), parent_id=None, created_at=years[2])
    assert session.search("word", until=years[1]) == []
    assert [result.created_at for result in session.search("word", since=years[1])] == [years[2]]


def test_a_change_of_role_shows(session: Session) -> None:
    session.append_message(message("a", "word"))
    assert session.search("word")[0].role == "user"
    session.update_message(message("a", "word", role="assistant"))
    assert session.search("word")[0].role == "assistant"
    assert session.search("word", role="user") == []


def test_all_branches_are_searched(session: Session) -> None:
    session.append_message(message("q", "question"))
    session.append_message(message("a1", "first answer"))
    session.append_message(message("a2", "second answer"), parent_id="q")
    assert found(session.search("answer")) == ["a2", "a1"]


def test_texts_beside_media_and_growing_texts_are_searched(sessions: Sessions) -> None:
    session = sessions.session()
    image = {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUg=="}
    text = "a picture of a fox " * 200

    def with_image(text: str) -> Any:
        return {"id": "a", "role": "user", "parts": [image, {"type": "text", "text": text}, image]}

    session.append_message(with_image(text))
    assert found(session.search("picture fox")) == ["a"]
    for number in range(5):
        text += f"and a wolf{number} "
        session.update_message(with_image(text))
    assert found(session.search("wolf4 picture")) == ["a"]
    assert session.search("iVBORw0KGgoAAAANSUhEUg") == []
    assert session.search("wolf4")[0].content == text
    session.update_message(with_image("nothing"))
    assert session.search("fox") == []
    assert sessions.verify().problems == ()


@pytest.mark.parametrize("retain", ["current", "all"])
def test_a_message_saved_again_and_again_is_found_by_its_last_words_only(
    path: Path, retain: Literal["current", "all"]
) -> None:
    with Sessions(path, durability="normal", retain=retain) as sessions:
        session = sessions.session()
        session.append_message(message("other", "word3 is here too"))
        for number in range(5):
            session.upsert_message(message("a", f"word{number}"))
            for each in range(number + 1):
                expected = ["a"] * (each == number) + ["other"] * (each == 3)
                assert found(session.search(f"word{each}")) == expected
        assert sessions.verify().ok


def test_summaries_are_not_searched_and_what_they_cover_is(session: Session) -> None:
    session.append_messages([message(f"m{n}", f"fox number{n}") for n in range(4)])
    session.add_compaction("wolves were spoken of", "m1", "m2")
    assert session.search("wolves") == []
    assert found(session.search("fox number2")) == ["m2"]


# ---- snippets

FAMILY = "👨‍👩‍👧‍👦"
FLAG = "🇩🇪"


@pytest.mark.parametrize("whole", ["👍", FAMILY, FLAG * 2, "👍🏽", "e\u0301", "\r\n", "가"])
def test_no_character_is_torn(sessions: Sessions, whole: str) -> None:
    for length in range(snippets.WIDTH - 12, snippets.WIDTH + 3):
        text = "word" + "x" * (length - 4) + whole + "y" * 50 + FLAG * 60 + FAMILY * 40
        session = sessions.session(f"{length}")
        session.append_message(message("a", f"{text} word"))
        (result,) = session.search(f"{text[:length]}*")
        shown = result.snippet.removesuffix("…")
        rest = text[len(shown) :]
        for each in (whole, FLAG, FAMILY):
            for cut in range(1, len(each)):
                torn = shown.endswith(each[:cut]) and rest.startswith(each[cut:])
                assert not torn or each in ("\r\n", FLAG * 2), length


def test_a_snippet_is_around_what_matches(session: Session) -> None:
    before, after = "lorem ipsum " * 2_000, " dolor sit" * 2_000
    session.append_message(message("a", f"needle {before}a needle in the haystack{after}"))
    (result,) = session.search("haystack needle")
    assert "a needle in the haystack" in result.snippet
    assert marked(result) == ["needle", "haystack"]
    assert result.snippet.startswith("…")
    assert result.snippet.endswith("…")
    assert len(result.snippet) <= snippets.WIDTH + 2


def test_a_phrase_over_two_blocks_is_shown_by_its_words(session: Session) -> None:
    filler = "x" * (snippets.BLOCK - 10)
    session.append_message(message("a", f"{filler} brown fox"))
    (result,) = session.search('"brown fox"')
    assert set(marked(result)) <= {"brown", "fox", "brown fox"}
    assert marked(result)


# ---- size


def test_messages_of_any_size(path: Path) -> None:
    """Found by words far apart in one text, before and after the first search; SQLite's limit is lowered to 1.7 MB."""
    large = f"alpha {'filler words ' * 140_000} omega conditional"
    with Sessions(path, durability="normal") as sessions:
        writer = sessions._store.database._writer
        assert writer is not None
        writer.limit(apsw.SQLITE_LIMIT_LENGTH, 1_700_000)
        session = sessions.session()
        session.append_message(message("a", large))
        assert found(session.search("omega alpha")) == ["a"]
        session.append_message(message("b", f"alpha {'数 words ' * 14_000} omega conditional"))
        assert found(session.search("alpha 数 condition*")) == ["b"]
        assert found(session.search('"words omega"')) == ["b", "a"]
        assert session.search('"alpha omega"') == []
        session.append_message(message("c", "small omega"))
        assert found(session.search("omega")) == ["c", "b", "a"]
        session.update_message(message("a", "small"))
        assert found(session.search("filler")) == []
        session.delete_messages(["b"])
        assert found(session.search("omega")) == ["c"]
        assert sessions.verify().problems == ()
        assert sessions._store.database._writer is writer


def with_output(number: int, size: int) -> Any:
    """A message of a short text and a large output of a tool."""
    output = (f"line {number} of what hiddenword gave " * (size // 30 + 1))[:size]
    tool = {"type": "tool-run", "toolCallId": "c", "state": "output-available", "input": {}, "output": output}
    text = {"type": "text", "text": f"Ran the tool: step number{number} went well"}
    return {"id": f"m{number}", "role": "assistant", "parts": [text, tool]}


def index_bytes(path: Path) -> int:
    connection = apsw.Connection(str(path))
    try:
        rows = connection.execute("SELECT sum(length(block)) FROM search_data").fetchall()
        return int(rows[0][0])  # type: ignore[arg-type]
    finally:
        connection.close()


def check_large_outputs(path: Path, count: int, size: int) -> None:
    """Messages with large outputs of tools are opened, listed and searched as if they were small."""
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        for number in range(count):
            session.append_message(with_output(number, size))
        assert found(session.search(f"number{count // 2}")) == [f"m{count // 2}"]
        assert session.search("hiddenword") == []
        assert index_bytes(path) < count * 60 + 1_000
    with Sessions(path, durability="normal") as sessions:
        assert [info.messages for info in sessions.list_sessions()] == [count]
        read: list[int] = []
        read_body = texts.read_body
        try:
            texts.read_body = lambda *arguments: read.append(arguments[1]) or read_body(*arguments)  # type: ignore[func-returns-value]
            assert len(sessions.search("went well")) == 20
            most = max(20, -(-weighing.WEIGHED_CHARACTERS // (size + 100)))
            assert len(read) == min(most, count)
            assert found(sessions.search("number1")) == ["m1"]
            assert len(read) == min(most, count) + 1
        finally:
            texts.read_body = read_body


def test_large_outputs_of_tools_cost_no_search(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighing, "WEIGHED_CHARACTERS", 5_000_000)
    check_large_outputs(path, count=40, size=200_000)


@pytest.mark.large
def test_two_thousand_large_outputs_of_tools_cost_no_search(path: Path) -> None:
    check_large_outputs(path, count=2_000, size=1_000_000)


# ---- when the index is made


def tables(path: Path) -> set[str]:
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return {name for (name,) in connection.execute("SELECT name FROM sqlite_schema")}
    finally:
        connection.close()


def test_a_store_that_never_searched_has_no_table_for_it(path: Path) -> None:
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_message(message("a", "fox"))
        session.update_message(message("a", "wolf"))
        session.search("")
        session.search("!!!")
        sessions.rebuild()
        session.clear_messages()
    assert not [name for name in tables(path) if "search" in name]
    with Sessions(path, durability="normal") as sessions:
        sessions.search("fox")
    assert "search_index" in tables(path)


def test_the_index_is_made_in_bounded_transactions(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(texts, "BATCH_MESSAGES", 20)
    monkeypatch.setattr(texts, "BATCH_BYTES", 5_000)
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}", f"word number{n}") for n in range(200)])
        session.append_messages([message(f"n{n}", f"word {'x' * 2_000}") for n in range(20)])
        added: list[int] = []
        add = index.add
        try:
            index.add = lambda connection, batch: added.append(len(batch.texts)) or add(connection, batch)  # type: ignore[func-returns-value]
            assert len(sessions.search("word", limit=None)) == 220
        finally:
            index.add = add
        assert sum(added) == 220
        assert max(added) == 20
        assert added[-1] <= 2


def test_a_search_writes_no_event(sessions: Sessions) -> None:
    heard = Heard()
    sessions.subscribe(heard)
    sessions.session().append_message(message("a", "fox"))
    assert sessions.search("fox")
    assert heard.seqs == [1]
    assert sessions.latest_seq == 1


def test_inside_a_transaction_it_sees_what_was_written(sessions: Sessions) -> None:
    session = sessions.session()
    session.append_message(message("a", "fox"))
    with sessions.transaction():
        session.append_message(message("b", "fox wolf"))
        assert found(session.search("fox")) == ["a", "b"]
        session.delete_messages(["a"])
        assert found(session.search("fox")) == ["b"]
    assert found(session.search("fox")) == ["b"]


def test_the_past_is_not_searched(sessions: Sessions) -> None:
    sessions.session().append_message(message("a", "fox"))
    with sessions.at(1) as view:
        assert not hasattr(view.session(), "search")
    assert not hasattr(StoreView, "search")


def test_after_close(session: Session) -> None:
    session.sessions.close()
    with pytest.raises(StoreClosed):
        session.search("fox")


def test_an_index_of_another_version_is_made_anew(path: Path) -> None:
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message("a", "fox"), message("b", "wolf")])
        assert sessions.search("fox")
        connection = apsw.Connection(str(path))
        connection.execute("UPDATE search_index SET version = 0")
        connection.close()
        session.update_message(message("a", "lamb"))
        assert sessions.search("fox") == []
        assert found(sessions.search("wolf")) == ["b"]
        assert sessions.verify().problems == ()


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        ("INSERT INTO search(rowid, text) VALUES (2, 'intruder')", "'intrud'"),
        ("INSERT INTO search(search, rowid, text) VALUES ('delete', 1, 'fox')", "'fox'"),
        ("UPDATE search_index SET messages = 7", "messages=7"),
    ],
)
def test_verify_finds_what_does_not_fit_and_rebuild_mends_it(path: Path, damage: str, told: str) -> None:
    with Sessions(path, durability="normal") as sessions:
        sessions.session().append_messages([message("a", "fox"), message("b", "wolf")])
        sessions.search("fox")
        assert sessions.verify().problems == ()
        connection = apsw.Connection(str(path))
        connection.execute(damage)
        connection.close()
        assert [problem for problem in sessions.verify().problems if told in problem]
        sessions.rebuild()
        assert sessions.verify().problems == ()
        assert found(sessions.search("fox")) == ["a"]


def test_verify_covers_texts_of_any_length(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of long texts have numbers beyond 2**40: those of one word add up to more than 64 bits."""
    monkeypatch.setattr(words.pieces, "__defaults__", (4,))
    session.append_message(message("a", "fox " * 5_000))
    assert found(session.search("fox")) == ["a"]
    assert session.sessions.verify().problems == ()


# ---- read only


def listing(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


@pytest.mark.parametrize("indexed", [False, True, "partly"])
def test_a_read_only_store_is_searched_and_left_as_it_is(path: Path, indexed: object) -> None:
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message("a", "fox wolf"), message("b", "fox")])
        if indexed:
            session.search("fox")
        if indexed == "partly":
            session.append_message(message("c", "fox and more"))
            session.update_message(message("b", "lamb"))
        expected = session.search("fox") if indexed is True else None
    before = listing(path)
    with Sessions(path, read_only=True) as reader:
        results = reader.search("fox")
        assert found(results) == (["a", "c"] if indexed == "partly" else ["b", "a"])
        assert expected is None or results == expected
        assert found(reader.session().search("wolf")) == ["a"]
        assert found(reader.search("lamb")) == (["b"] if indexed == "partly" else [])
        assert reader.verify().problems == ()
        assert listing(path) == before
    assert listing(path) == before


def test_a_read_only_store_follows_a_writer_that_comes_and_goes(path: Path) -> None:
    with Sessions(path, durability="normal") as writer:
        writer.session().append_message(message("a", "fox"))
    with Sessions(path, read_only=True) as reader:
        assert found(reader.search("fox")) == ["a"]
        for number in range(3):
            with Sessions(path, durability="normal") as writer:
                session = writer.session()
                session.append_message(message(f"b{number}", "fox"))
                assert len(reader.search("fox")) == 2
                session.update_message(message(f"b{number}", "wolf"))
                assert found(reader.search("fox")) == ["a"]
                if number == 1:
                    writer.search("fox")
                assert len(reader.search("wolf")) == 1
                session.delete_messages([f"b{number}"])
                assert reader.search("wolf") == []
            assert found(reader.search("fox")) == ["a"]


# ---- others at the same store


def test_writers_go_on_while_the_index_is_made_and_it_misses_nothing(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts, "BATCH_MESSAGES", 20)
    with Sessions(path, durability="normal") as sessions, Sessions(path, durability="normal") as other:
        sessions.session().append_messages([message(f"m{n}", f"word first{n}") for n in range(1_000)])
        stop = threading.Event()
        written: list[int] = []

        def write() -> None:
            session = other.session("other")
            while not stop.is_set():
                number = len(written)
                session.append_message(message(f"n{number}", f"word other{number}"))
                other.session().update_message(message(f"m{number * 7 % 1_000}", f"word changed{number}"))
                if number % 3 == 0:
                    session.delete_messages([f"n{number - 1}"])
                written.append(number)

        thread = threading.Thread(target=write)
        thread.start()
        for _ in range(5):
            sessions.search("word")
        stop.set()
        thread.join()
        assert written
        assert len(sessions.search("word", limit=None)) == sum(info.messages for info in sessions.list_sessions())
        assert sessions.verify().problems == ()


def test_many_threads_search_one_store(sessions: Sessions) -> None:
    session = sessions.session()
    session.append_messages([message(f"m{n}", f"word number{n}") for n in range(200)])
    failures: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(20):
                session.append_message(message(f"t{number} {turn}", f"word thread{number}"))
                assert len(session.search(f"thread{number}", limit=None)) == turn + 1
        except BaseException as error:  # noqa: BLE001 - told by the test
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(session.search("word", limit=None)) == 280
    assert sessions.verify().problems == ()
