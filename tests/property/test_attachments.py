"""What is written reads back equal, whatever it looks like; and bytes are stored exactly as long as they are needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import ImportRow, Session, Sessions, media
from eventstore.codec import encode
from eventstore.testing import check_invariants, json_text, same_json
from tests.property.media_values import IMAGES, image_part, media_messages
from tests.property.stored import contents

Retain = Literal["current", "all"]
WHEN = datetime(2026, 1, 2, 3, 4, 5, 6, UTC)


@pytest.fixture(autouse=True, scope="module")
def short_slices() -> Iterator[None]:
    """Slices of a few bytes, so that generated media have several."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(media, "CHARACTERS", 64)
        patch.setattr(media, "SLICE_BYTES", 48)
        yield


def _seen(session: Session) -> list[Any]:
    """The message as each read shows it."""
    sessions = session.sessions
    recent = session.get_recent_history()
    with sessions.at(sessions.latest_seq) as view:
        then = view.session(session.session_id).get_message("m")
    return [session.get_message("m"), *session.get_history(), *session.history(), *recent.messages, then]


def _assert_seen(session: Session, message: Any) -> None:
    for seen in _seen(session):
        assert json_text(seen) == json_text(message)
    (info,) = session.get_history_row_stats()
    size = encode(message).size
    assert (info.bytes, session.info().bytes, session.get_recent_history().total_content_bytes) == (size, size, size)


@given(media_messages(), media_messages())
def test_every_way_in_and_out_gives_back_what_was_written(one: Any, other: Any) -> None:
    with Sessions(durability="normal") as sessions:
        heard: list[Any] = []
        sessions.subscribe(lambda event: heard.append(getattr(event, "message", None)))
        session = sessions.session("s")
        written: list[Any] = [session.append_message(one).message]
        _assert_seen(session, one)
        written.append(session.update_message(other))
        _assert_seen(session, other)
        assert same_json(session.update_message(other), other)
        written.append(session.upsert_message(one).message)
        _assert_seen(session, one)
        imported = sessions.session("imported")
        written.append(imported.import_message(other, parent_id=None, created_at=WHEN).message)
        _assert_seen(imported, other)
        rows = sessions.session("rows")
        rows.import_messages([ImportRow(one, parent_id=None, created_at=WHEN)])
        _assert_seen(rows, one)
        assert same_json(written, [one, other, one, other])
        changed = [] if same_json(one, other) else [other, one]
        assert same_json(heard, [one, *changed, other, one])
        check_invariants(sessions, rebuild=True)


@given(media_messages())
def test_copies_are_equal(message: Any) -> None:
    with Sessions() as sessions, Sessions() as elsewhere:
        session = sessions.session("s")
        session.append_message(message)
        session.copy_to(sessions.session("copy"))
        session.copy_to(elsewhere.session("copy"), leaf_id="m")
        for copy in (sessions.session("copy"), elsewhere.session("copy")):
            _assert_seen(copy, message)
        check_invariants(sessions)
        check_invariants(elsewhere)


@given(media_messages())
def test_a_row_that_waits_for_its_parent_keeps_its_media(message: Any) -> None:
    with Sessions() as sessions:
        session = sessions.session()
        parent = {"id": "parent", "role": "user", "parts": []}
        session.import_messages(
            [
                ImportRow(message, parent_id="parent", created_at=WHEN),
                ImportRow(parent, parent_id=None, created_at=WHEN),
            ]
        )
        assert same_json(session.get_history(), [parent, message])
        assert sessions.verify().ok


# ---- lifetimes, and texts that grow around media


LONG = "A reply of some length, whose text grows in many places. " * 45
assert len(LONG) > 2_048


@attrs.frozen
class Op:
    """Something done to one of two sessions. The numbers choose, whatever there is to be chosen from."""

    kind: str
    session: int
    message: int
    where: int
    what: int


_OFTEN = ("append", "grow", "grow", "grow", "grow", "grow", "add", "replace", "swap")
_SELDOM = ("remove", "delete", "branch", "clear", "forget", "import", "known", "rolled", "copy", "reopen")
_KINDS = st.one_of(st.sampled_from(_OFTEN), st.sampled_from(_OFTEN), st.sampled_from(_SELDOM))
_NUMBERS = st.integers(0, 99)
_FIRST = Op("append", 0, 0, 2, 0)
OPS = st.lists(st.builds(Op, _KINDS, st.integers(0, 1), st.integers(0, 3), _NUMBERS, _NUMBERS), max_size=20).map(
    lambda ops: [_FIRST, attrs.evolve(_FIRST, session=1, where=1), *ops]
)


class World:
    """A store and what must be in it: the messages of each session, and the bytes of every version that is kept."""

    def __init__(self, path: Path, retain: Retain) -> None:
        self.path = path
        self.retain = retain
        self.sessions = Sessions(path, retain=self.retain, durability="normal")
        self.messages: list[dict[str, Any]] = [{}, {}]
        self.versions: list[tuple[int, int, Any]] = []  # (seq, session, message)
        self.numbers = iter(range(10_000))

    def session(self, number: int) -> Session:
        return self.sessions.session(f"s{number}")

    def note(self, session: int, message: Any) -> None:
        self.messages[session][message["id"]] = message
        self.versions.append((self.sessions.latest_seq, session, message))

    def apply(self, op: Op) -> None:
        getattr(self, op.kind)(op)

    def check(self) -> None:
        for number, expected in enumerate(self.messages):
            for message_id, message in expected.items():
                assert json_text(self.session(number).get_message(message_id)) == json_text(message)
        kept = [message for _, _, message in self.versions]
        if self.retain == "current":
            kept = [message for each in self.messages for message in each.values()]
        wanted = {part["url"] for message in kept for part in message["parts"] if part["type"] == "file"}
        assert {image_part(data)["url"].split(",")[1] for data in contents(self.path)} == {
            url.split(",")[1] for url in wanted
        }

    # ---- what is done

    def append(self, op: Op) -> None:
        parts = [{"type": "text", "text": LONG}, self._image(op), {"type": "text", "text": "Here."}, self._image(op)]
        message: Any = {"id": f"m{next(self.numbers)}", "role": "user", "parts": parts[: 2 + op.where % 3]}
        self.session(op.session).append_message(message)
        self.note(op.session, message)

    def _image(self, op: Op) -> dict[str, Any]:
        return image_part(IMAGES[op.what % len(IMAGES)], ("image/png", "image/jpeg")[op.where % 2])

    def _chosen(self, op: Op) -> Any:
        there = list(self.messages[op.session].values())
        return there[op.message % len(there)] if there else None

    def _update(self, op: Op, change: Any) -> None:
        message = self._chosen(op)
        if message is None:
            return
        parts = [dict(part) for part in message["parts"]]
        change(parts)
        new = {**message, "parts": parts}
        self.session(op.session).update_message(new)
        self.note(op.session, new)

    def grow(self, op: Op) -> None:
        def change(parts: list[dict[str, Any]]) -> None:
            texts = [part for part in parts if part["type"] == "text"]
            if texts:
                part = texts[op.what % len(texts)]
                at = (0, len(part["text"]), op.where)[op.where % 3]
                part["text"] = part["text"][:at] + "+😀"[op.what % 2] * (op.where % 3 + 1) + part["text"][at:]

        self._update(op, change)

    def add(self, op: Op) -> None:
        text = {"type": "text", "text": "Between."}
        self._update(op, lambda parts: parts.insert(op.where % (len(parts) + 1), (self._image(op), text)[op.what % 2]))

    def replace(self, op: Op) -> None:
        def change(parts: list[dict[str, Any]]) -> None:
            for index, part in enumerate(parts):
                if part["type"] == "file":
                    parts[index] = self._image(op)

        self._update(op, change)

    def swap(self, op: Op) -> None:
        self._update(op, list.reverse)

    def remove(self, op: Op) -> None:
        self._update(op, lambda parts: parts and parts.pop(op.where % len(parts)))

    def delete(self, op: Op) -> None:
        message = self._chosen(op)
        if message is not None:
            self.session(op.session).delete_messages([message["id"]])
            del self.messages[op.session][message["id"]]

    def branch(self, op: Op) -> None:
        message = self._chosen(op)
        if message is not None:
            for message_id in self.session(op.session).delete_branch(message["id"]):
                del self.messages[op.session][message_id]

    def clear(self, op: Op) -> None:
        self.session(op.session).clear_messages()
        self.messages[op.session].clear()

    def forget(self, op: Op) -> None:
        self.sessions.delete_session(f"s{op.session}")
        self.messages[op.session].clear()

    def _import(self, op: Op, message: Any) -> bool:
        return self.session(op.session).import_message(message, parent_id=None, created_at=WHEN).inserted

    def known(self, op: Op) -> None:
        message = self._chosen(op)
        if message is not None:
            assert not self._import(op, {**message, "parts": [image_part(b"never stored")]})

    def rolled(self, op: Op) -> None:
        unseen = {"id": f"m{next(self.numbers)}", "role": "user", "parts": [image_part(b"rolled back")]}
        message = self._chosen(op)
        session = self.session(op.session)
        with suppress(ZeroDivisionError), self.sessions.transaction():
            session.append_message(unseen)
            if message is not None:
                session.update_message({**message, "parts": unseen["parts"]})
            session.clear_messages()
            raise ZeroDivisionError

    def copy(self, op: Op) -> None:
        self.clear(attrs.evolve(op, session=1 - op.session))
        self.session(op.session).copy_to(self.session(1 - op.session))
        self.messages[1 - op.session] = dict(self.messages[op.session])

    def reopen(self, op: Op) -> None:
        self.sessions.close()
        self.sessions = Sessions(self.path, durability="normal")


def _import_op(world: World, op: Op) -> None:
    message: Any = {"id": f"m{next(world.numbers)}", "role": "user", "parts": [world._image(op)]}
    assert world._import(op, message)
    world.note(op.session, message)


setattr(World, "import", _import_op)  # a word that no method may have


@contextmanager
def worlds(retain: Retain) -> Iterator[World]:
    with TemporaryDirectory() as folder:
        world = World(Path(folder, "store.db"), retain)
        try:
            yield world
        finally:
            world.sessions.close()


@given(OPS)
def test_bytes_stay_exactly_as_long_as_a_current_version_needs_them(ops: list[Op]) -> None:
    with worlds("current") as world:
        for op in ops:
            world.apply(op)
            world.check()
        report = world.sessions.verify()
        assert report.ok, report.problems


@given(OPS)
def test_every_version_stays_readable_where_all_are_retained(ops: list[Op]) -> None:
    with worlds("all") as world:
        for op in ops:
            world.apply(op)
            world.check()
        for seq, session, message in world.versions:
            with world.sessions.at(seq) as view:
                assert json_text(view.session(f"s{session}").get_message(message["id"])) == json_text(message)
        report = world.sessions.verify()
        assert report.ok, report.problems
