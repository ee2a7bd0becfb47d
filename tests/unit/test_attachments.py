"""Bytes beside messages: nobody reaches them by a string, they count, they are checked, and any size is fine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import apsw
import pytest

from eventstore import DamagedStore, Session, Sessions, media
from eventstore.codec import encode
from eventstore.exchange import jsonl
from eventstore.testing import check_invariants, json_text, same_json
from tests.property.media_values import encoded, image_part, pictured
from tests.property.stored import contents
from tests.unit.talk import message


@contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    connection = apsw.Connection(str(path))
    try:
        yield connection
    finally:
        connection.close()


# ---- nobody reaches bytes by a string


def written_strings(path: Path) -> set[str]:
    """Everything that a file holds, as strings: texts, numbers, bytes in hexadecimal and base64."""
    found: set[str] = set()
    with raw(path) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        for table in tables:
            for row in connection.execute(f"SELECT * FROM {table}").fetchall():
                for value in row:
                    if isinstance(value, bytes):
                        found |= {value.hex(), encoded(value), value.decode("latin-1")}
                    elif value is not None:
                        found.add(str(value))
    return found


def test_a_string_is_never_a_reference(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    marks: list[str] = []
    new_mark = media.new_mark

    def told() -> str:
        marks.append(new_mark())
        return marks[-1]

    monkeypatch.setattr(media, "new_mark", told)
    secret = bytes(range(256)) * 9
    with Sessions(path, durability="normal") as sessions:
        owner = sessions.session("owner")
        owner.append_message(pictured("m", secret))
        assert same_json(owner.get_message("m"), pictured("m", secret))
        digest = sha256(secret).hexdigest()
        texts = written_strings(path) | {f"attachment:sha256:{digest}", f"sha256:{digest}", "data:image/png;base64,"}
        forged = [text for text in texts if encoded(secret) not in text]
        forged += [*marks, *(f"data:image/png;base64,{mark}" for mark in marks)]
        monkeypatch.undo()
        before = contents(path)
        for name in ("owner", "other"):
            write_all(sessions.session(name), forged)
        assert same_json(owner.get_message("m"), pictured("m", secret))
        assert contents(path) >= before
        check_forged(sessions.session("other"), forged, secret)
        check_forged(owner, forged, secret)

    with Sessions(tmp_path / "before.db", durability="normal") as sessions:
        write_all(sessions.session("other"), forged)
        check_forged(sessions.session("other"), forged, secret)
        sessions.session("owner").append_message(pictured("m", secret))
        check_forged(sessions.session("other"), forged, secret)
        assert sessions.verify().ok


def forged_message(number: int, text: str) -> Any:
    fields = {"mediaType": "image/png", "url": text, "text": text}
    part = {"type": "file", **fields, "output": [{"mimeType": "image/png", "data": text}, {"url": text}, text]}
    parts = [part, {"type": text or "x", "data": text, "mediaType": text}]
    return {"id": f"forged-{number}", "role": "user", "parts": parts, "metadata": fields, text or "x": text}


def write_all(session: Session, texts: list[str]) -> None:
    for number, text in enumerate(texts):
        made = forged_message(number, text)
        if text not in made["parts"][0]:  # the name of a key of its own
            assert same_json(session.append_message(made, parent_id=None).message, made)


def check_forged(session: Session, texts: list[str], secret: bytes) -> None:
    for number, text in enumerate(texts):
        found = session.get_message(f"forged-{number}")
        assert found is None or same_json(found, forged_message(number, text))
        assert encoded(secret)[:200] not in json_text(found)


def test_marks_are_never_the_same_again() -> None:
    assert len({media.new_mark() for _ in range(1_000)}) == 1_000


# ---- once per content, as long as it is needed


def test_bytes_are_stored_once_and_go_with_their_last_message(path: Path) -> None:
    one, other = b"one" * 30_000, b"other" * 30_000
    with Sessions(path, durability="normal") as sessions:
        first, second = sessions.session("1"), sessions.session("2")
        first.append_message(pictured("a", one, one, other))
        first.append_message(pictured("b", one, media_type="image/jpeg"))
        second.append_message(pictured("a", one))
        first.copy_to(sessions.session("fork"))
        assert contents(path) == {one, other}
        first.clear_messages()
        assert contents(path) == {one, other}
        sessions.delete_session("fork")
        assert contents(path) == {one}
        assert same_json(second.get_history(), [pictured("a", one)])
        second.update_message(pictured("a", other))
        assert contents(path) == {other}
        second.delete_messages(["a"])
        assert contents(path) == set()
        assert sessions.verify().ok
    assert one not in path.read_bytes()
    assert encoded(one)[:100].encode() not in path.read_bytes()


def test_many_files_of_all_spellings_come_back(path: Path) -> None:
    images = [bytes([n]) * 5_000 for n in range(76)]
    odd = (
        "DATA:image/png;base64,QUJD",
        "data:image/png;charset=utf-8;base64,QUJD",
        "data:,%41",
        "data:image/png;base64,?",
    )
    made = pictured("m", *images)
    made["parts"] += [{"type": "file", "mediaType": "image/png", "url": url} for url in odd]
    made["parts"].append({"type": "tool-look", "output": {"content": [image_part(data) for data in images]}})
    with Sessions(path, durability="normal") as sessions:
        sessions.session().append_message(made)
        sessions.session().append_message({**made, "id": "n"})
        assert same_json(sessions.session().get_message("m"), made)
        assert contents(path) == set(images)
    with Sessions(path, read_only=True) as sessions:
        assert same_json(sessions.session().get_history(), [made, {**made, "id": "n"}])


# ---- damage

DAMAGE: list[tuple[str, str]] = [
    ("DELETE FROM attachment_slice WHERE number % 2 = 1", "don't fit its digest"),
    ("DELETE FROM attachment_slice", "don't fit its digest"),
    ("DELETE FROM attachment", "is missing"),
    ("UPDATE attachment_slice SET bytes = zeroblob(length(bytes)) WHERE number % 2 = 0", "don't fit its digest"),
    ("INSERT INTO attachment VALUES (99, x'00', 0)", "nothing refers to it"),
    ("INSERT INTO attachment_slice VALUES (99 << 20, x'00')", "nothing refers to it"),
    ("DELETE FROM piece", "nothing refers to it"),
]


@pytest.mark.parametrize(("statement", "problem"), DAMAGE)
def test_verify_finds_what_is_missing_or_left_over(path: Path, statement: str, problem: str) -> None:
    image = b"\x07" * media.SLICE_BYTES + b"the end"
    with Sessions(path) as sessions:
        sessions.session().append_message(pictured("a", image))
    with raw(path) as connection:
        connection.execute(statement)
    with Sessions(path) as sessions:
        problems = sessions.verify().problems
        assert any(problem in line for line in problems), problems
        if "DELETE FROM attachment" in statement:
            with pytest.raises(DamagedStore, match="missing"):
                sessions.session().get_message("a")


# ---- bytes and tokens


def test_media_count_at_their_full_length() -> None:
    with Sessions() as sessions:
        session = sessions.session()
        given = [pictured("a", bytes(90_000)), message("b", "x" * 1_000), pictured("c", bytes(30_000), bytes(30_000))]
        session.append_messages(given)
        sizes = [encode(each).size for each in given]
        stats = session.get_history_row_stats()
        assert [info.bytes for info in stats] == sizes
        assert [info.token_estimate for info in stats] == [1_600 + 6, 254, 3_200 + 6]
        assert session.info().bytes == sum(sizes)
        recent = session.get_recent_history(sum(sizes[1:]))
        assert (len(recent.messages), recent.truncated, recent.total_content_bytes) == (2, True, sum(sizes))
        assert len(session.get_recent_history(sum(sizes[1:]) - 1).messages) == 1
        batches = list(session.history_batches(max_batch_bytes=sizes[0] + sizes[1]))
        assert [len(batch) for batch in batches] == [2, 1]


def test_every_version_with_media_is_read_where_all_are_retained(path: Path) -> None:
    images = [bytes([n]) * 30_000 for n in range(4)]
    with Sessions(path, retain="all", durability="normal") as sessions:
        session = sessions.session()
        versions: list[Any] = [pictured("m", images[0], text="word " * 1_000)]
        for text, chosen in (
            ("a", images[:1]),
            ("ab", images[:1]),
            ("ab", images[1:3]),
            ("abc", images[2:0:-1]),
            ("", []),
        ):
            versions.append(pictured("m", *chosen, text="word " * 1_000 + text))
        seqs = [session.upsert_message(version).seq for version in versions]
        session.delete_messages(["m"])
        assert contents(path) == set(images[:3])
        for seq, version in zip(seqs, versions, strict=True):
            assert seq is not None
            with sessions.at(seq) as view:
                assert same_json(view.session().get_message("m"), version)
        events: list[Any] = list(sessions.events(0))
        assert same_json([event.message for event in events[:-1]], versions)
        check_invariants(sessions, rebuild=True)


# ---- into another file and back


def test_an_export_carries_media(tmp_path: Path) -> None:
    image, other = bytes(range(256)) * 5_000, b"other" * 999
    there, here = tmp_path / "there.db", tmp_path / "here.db"
    with Sessions(there, durability="normal") as sessions:
        session = sessions.session("s")
        session.append_messages([pictured("a", image, text="\ud83d"), pictured("b", image, other), message("c")])
        session.update_message(pictured("b", other, text="changed"))
        with (tmp_path / "out.jsonl").open("wb") as file:
            jsonl.export(sessions, None, file)
        expected = session.get_history()
    for _ in range(2):  # the second time all of it is known
        with Sessions(here, durability="normal") as sessions:
            list(jsonl.import_file(sessions, tmp_path / "out.jsonl"))
            assert same_json(sessions.session("s").get_history(), expected)
            assert contents(here) == {image, other} == contents(there)
            check_invariants(sessions, rebuild=True)
