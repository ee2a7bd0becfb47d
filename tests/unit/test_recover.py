"""`recover()`: whatever happened to the file, the new one is sound, has what can be read, and nothing else."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import CannotOpen, DamagedStore, Message, NotAStore, Sessions, parts, recover
from eventstore.testing import check_invariants, json_text
from tests.laws.support import reads
from tests.property.tables import tables
from tests.same_bytes import same_bytes
from tests.unit.files import everything, patch
from tests.unit.talk import ids, message

PAGE = 2_048
WHEN = datetime(2020, 1, 1, tzinfo=UTC)
ERASED = [{"type": "erased"}]


class Written:
    """A store of every kind of event, and every version that each message ever had."""

    def __init__(self, path: Path, retain: Any) -> None:
        self.versions: dict[str, set[str]] = {}
        chance = random.Random(3)
        with Sessions(path, retain=retain, durability="normal") as sessions:
            for name in "ab":
                session = sessions.session(name)
                for number in range(27):
                    new = message(f"{name}{number}", f"text {number} " * chance.randint(1, 30))
                    if number % 9 == 4:
                        image = {"type": "file", "mediaType": "image/png", "data": "AbC0" * chance.randint(10, 1_000)}
                        new["parts"].append(image)
                    there = ids(session.tree())
                    if number % 11 == 5:
                        session.import_message(self.note(new), parent_id=chance.choice(there), created_at=WHEN)
                    elif number % 7 == 3:
                        session.append_message(self.note(new), parent_id=chance.choice(there))
                    else:
                        session.append_message(self.note(new))
                    if number % 5 == 4:
                        for more in ("grown " * 400, "and more"):
                            new["parts"][0]["text"] += more
                            session.update_message(self.note(new))
                    if number % 13 == 12:
                        session.delete_messages([f"{name}{number - 5}"])
                    if number % 17 == 16:
                        session.select_leaf(f"{name}{number - 1}")
                session.set_metadata({"title": name})
                path_infos = session.get_history_row_stats()
                session.add_compaction(f"what {name} said", path_infos[0].id, path_infos[2].id)
            sessions.session("gone").append_message(self.note(message("g")))
            sessions.delete_session("gone")
        self.raw = path.read_bytes()

    def note(self, new: Message) -> Message:
        self.versions.setdefault(new["id"], set()).add(json_text(new))
        return new


@pytest.fixture(scope="module", params=["current", "all"])
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    with same_bytes():
        return Written(tmp_path_factory.mktemp("recover") / "store.db", request.param)


def _flip(raw: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 3, 40))):
        raw[chance.randrange(len(raw))] ^= 1 << chance.randrange(8)


def _pages(raw: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 5))):
        at = chance.randrange(len(raw) // PAGE) * PAGE
        raw[at : at + PAGE] = chance.choice((bytes(PAGE), chance.randbytes(PAGE)))


def _swap(raw: bytearray, chance: random.Random) -> None:
    one, other = (chance.randrange(1, len(raw) // PAGE) * PAGE for _ in range(2))
    raw[one : one + PAGE], raw[other : other + PAGE] = raw[other : other + PAGE], raw[one : one + PAGE]


def _truncate(raw: bytearray, chance: random.Random) -> None:
    del raw[chance.randrange(len(raw)) :]


def _header(raw: bytearray, chance: random.Random) -> None:
    for _ in range(3):
        raw[chance.randrange(100)] = chance.randrange(256)


def _schema(raw: bytearray, chance: random.Random) -> None:
    places = [found.start() for found in re.finditer(rb"CREATE (TABLE|INDEX)|(table|index)\w+", raw)]
    for _ in range(chance.choice((1, 3, 10))):
        raw[chance.choice(places) + chance.randrange(16)] ^= 1 << chance.randrange(8)


DAMAGE: dict[str, Callable[[bytearray, random.Random], None]] = {
    "flipped bits": _flip,
    "lost pages": _pages,
    "swapped pages": _swap,
    "a lost end": _truncate,
    "a wrong header": _header,
    "a spoilt schema": _schema,
}


def readable(path: Path) -> dict[int, Any]:
    """What SQLite gives of each event when it is asked for by its number."""
    connection = apsw.Connection(str(path))
    connection.pragma("writable_schema", "on")
    found: dict[int, Any] = {}
    try:
        for seq in range(1, 400):
            try:
                row: Any = connection.execute(
                    "SELECT type, flags, body, id, role FROM event WHERE seq = ? AND base IS NULL AND flags IN (0, ?)",
                    (seq, parts.PARTS),
                ).fetchone()
            except (apsw.Error, UnicodeDecodeError):
                continue
            if row is not None:
                kind, flags, body, *said = row
                found[seq] = kind, said[0], body if body is None else parts.whole(flags, body, *said)
    finally:
        connection.close()
    return found


_HOW = (st.sampled_from(sorted(DAMAGE)), st.integers(0, 2**32))


@settings(max_examples=8)
@given(*_HOW)
def test_whatever_happened_to_it(written: Written, tmp_path_factory: Any, kind: str, seed: int) -> None:
    _recovered(written, tmp_path_factory.mktemp("damage"), kind, seed)


@pytest.mark.large
@settings(max_examples=400)
@given(*_HOW)
def test_whatever_happened_to_it_at_length(written: Written, tmp_path_factory: Any, kind: str, seed: int) -> None:
    _recovered(written, tmp_path_factory.mktemp("damage"), kind, seed)


def _recovered(written: Written, folder: Path, kind: str, seed: int) -> None:
    damaged, target = folder / "damaged.db", folder / "target.db"
    raw = bytearray(written.raw)
    DAMAGE[kind](raw, random.Random(seed))
    damaged.write_bytes(raw)
    try:
        report = recover(damaged, target)
    except (DamagedStore, NotAStore):
        assert list(everything(folder)) == ["damaged.db"]
        assert not any(body in _texts(written) for _, _, body in readable(damaged).values())
        return
    assert damaged.read_bytes() == raw
    assert sorted(everything(folder)) == ["damaged.db", "target.db"]
    with Sessions(target, durability="normal") as sessions:
        check_invariants(sessions)
        lost = "\n".join(f"{what}: {why}" for what, why in report.lost)
        living = 0
        for info in sessions.list_sessions():
            for each in sessions.session(info.session_id).tree():
                living += 1
                assert each.id in written.versions, "nobody ever wrote a message with this id"
                read = sessions.session(info.session_id).get_message(each.id)
                assert read is not None
                if read["parts"] != ERASED:
                    assert json_text(read) in written.versions[each.id], "it was never written"
                else:
                    assert repr(each.id) in lost, "it isn't told that this text is lost"
        assert living == report.messages
    saved = {seq: (kind, body) for seq, (kind, _, body) in readable(target).items()}
    for seq, (kind_then, message_id, body) in readable(damaged).items():
        if body is not None and kind_then in (1, 2, 5) and any(body == text for text in _texts(written)):
            is_told = str(seq) in lost or repr(message_id) in lost
            assert saved.get(seq, (0, ""))[1] == body or is_told, f"event {seq} is lost without a word"


def _texts(written: Written) -> set[str]:
    return {text for texts in written.versions.values() for text in texts}


def test_a_sound_file_is_saved_whole(written: Written, tmp_path: Path) -> None:
    source, target = tmp_path / "sound.db", tmp_path / "target.db"
    source.write_bytes(written.raw)
    told: list[tuple[int, int | None]] = []
    report = recover(source, target, progress=lambda done, total: told.append((done, total)))
    assert report.lost == ()
    assert told[-1] == (report.events, report.events)
    theirs, ours = tables(source), tables(target)
    for table in ("event", "piece", "deletion", "name", "message", "head", "chain", "overlay", "setting"):
        assert ours[table] == theirs[table]


def test_what_the_wal_holds_is_saved(path: Path, tmp_path: Path) -> None:
    with Sessions(path) as sessions:
        sessions.session().append_messages([message("a"), message("b")])
        for suffix in ("", "-wal"):
            (tmp_path / f"killed.db{suffix}").write_bytes(Path(f"{path}{suffix}").read_bytes())
    assert recover(tmp_path / "killed.db", tmp_path / "target.db").messages == 2
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "link.db").symlink_to(tmp_path / "killed.db")  # the WAL lies beside what it names
    assert recover(tmp_path / "links" / "link.db", tmp_path / "again.db").messages == 2


@pytest.mark.parametrize("bit", range(7))
def test_a_flag_that_flipped_loses_nothing(path: Path, tmp_path: Path, bit: int) -> None:
    """The digest covers no flags, and the text says all that they do."""
    with Sessions(path) as sessions:
        session = sessions.session()
        session.append_messages([message("a", "plain"), message("b", metadata={}), message("c", "\ud800")])
        session.append_message(message("d", "\ud800", metadata={}))
        before = reads(sessions)
    with apsw.Connection(str(path)) as raw:
        assert raw.execute("SELECT count(DISTINCT flags) FROM event").fetchall() == [(4,)]
        raw.execute("UPDATE event SET flags = (flags | ?1) - (flags & ?1)", (1 << bit,))
    raw.close()
    assert recover(path, tmp_path / "target.db").lost == ()
    with Sessions(tmp_path / "target.db") as sessions:
        assert reads(sessions) == before
        check_invariants(sessions, rebuild=True)


def test_what_points_to_something_lost_is_mended_and_told(tmp_path: Path) -> None:
    path, target = tmp_path / "store.db", tmp_path / "target.db"
    with Sessions(path) as sessions:
        session = sessions.session("talk")
        session.append_messages([message("a"), message("b"), message("c"), message("d")])
        session.update_message(message("c", "changed"))
        session.append_message(message("e"), parent_id="b")
        before = sessions.latest_seq
    with apsw.Connection(str(path)) as raw:
        raw.execute("DELETE FROM event WHERE seq IN (2, 3)")  # b and c
    raw.close()
    report = recover(path, target)
    assert report.lost == (
        ("events 2 to 3", "can't be read"),
        ("event 4 (append): 'd' of session 'talk'", "its parent, event 3, is lost: it hangs on 'a' now"),
        ("event 5 (append): 'c' of session 'talk'", "its parent, event 3, is lost: it hangs on 'a' now"),
        (
            "event 5 (append): 'c' of session 'talk'",
            "the event that wrote it first, 3, is lost: this version stands for it",
        ),
        ("event 6 (append): 'e' of session 'talk'", "its parent, event 2, is lost: it hangs on 'a' now"),
    )
    with Sessions(target) as sessions:
        assert sessions.latest_seq == before
        assert [(info.id, info.parent_id) for info in sessions.session("talk").tree()] == [
            ("a", None),
            ("d", "a"),
            ("c", "a"),
            ("e", "a"),
        ]
        assert [info.session_id for info in sessions.list_sessions()] == ["talk"]
        assert [event.type for event in sessions.events(0)][1:3] == ["delete_session"] * 2
        check_invariants(sessions, rebuild=True)


def test_a_lost_first_page_takes_nothing_with_it(written: Written, tmp_path: Path) -> None:
    source, target = tmp_path / "store.db", tmp_path / "target.db"
    source.write_bytes(written.raw)
    recover(source, tmp_path / "sound.db")
    patch(source, 0, b"\xa5" * PAGE)
    assert recover(source, target).lost == ()
    with Sessions(target) as saved, Sessions(tmp_path / "sound.db") as sound:
        assert reads(saved) == reads(sound)


def test_what_is_no_damaged_store_is_refused(store: Path, tmp_path: Path) -> None:
    foreign, letter, target = tmp_path / "foreign.db", tmp_path / "letter.txt", tmp_path / "target.db"
    with apsw.Connection(str(foreign)) as raw:
        raw.execute("CREATE TABLE t (x)")
    raw.close()
    letter.write_text("Dear Sir or Madam, " * 1_000)
    before = everything(tmp_path)
    for source, error in ((foreign, NotAStore), (letter, DamagedStore), (tmp_path / "none.db", CannotOpen)):
        with pytest.raises(error):
            recover(source, target)
    for wrong in (store, foreign, tmp_path / "none" / "target.db"):
        with pytest.raises(CannotOpen):
            recover(store, wrong)
    assert everything(tmp_path) == before
    with Sessions(tmp_path / "empty.db"):
        pass
    assert recover(tmp_path / "empty.db", target).events == 0
