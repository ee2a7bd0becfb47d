"""Makes the golden files of the present format: `python -m tests.golden.make`. Old ones are never made anew."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

from eventstore import ImportRow, Session, Sessions

HERE = Path(__file__).parent
VERSION = 2
LONG = 200
START = datetime(2024, 2, 29, 12, 30, 0, 123456, tzinfo=UTC)
PICTURE = base64.b64encode(bytes(range(256)) * 8).decode()


def text(message_id: str, words: str, role: str = "user") -> dict[str, Any]:
    """A plain message."""
    return {"id": message_id, "role": role, "parts": [{"type": "text", "text": words}]}


def fill(store: Sessions) -> None:
    """Every kind of event, and every way in which a body is kept."""
    branches(store.session("branches"))
    odd_values(store.session("odd \N{SNOWMAN} values"))
    growing(store.session("growing"))
    media(store.session("media"))
    imported(store.session())
    compacted(store.session("compacted"))
    store.session("cleared").append_messages([text("c1", "gone"), text("c2", "gone too")])
    store.session("cleared").clear_messages()
    store.session("cleared").append_message(text("c1", "the same id again"))
    store.session("deleted").append_message(text("d1", "gone with its session"))
    store.session("deleted").set_metadata({"title": "gone"})
    store.delete_session("deleted")


def branches(session: Session) -> None:
    """Branches, deletes in the middle and of a root, a selected leaf, metadata that was replaced."""
    session.append_messages([text("m1", "one"), text("u1", "two"), text("a1", "three", "assistant")])
    session.append_message(text("a2", "another three", "assistant"), parent_id="u1")
    session.append_message(text("u2", "four"), parent_id="a1")
    session.append_message(text("r2", "a second root"), parent_id=None)
    session.append_message(text("x1", "under the first root again"), parent_id="m1")
    session.append_message(text("x2", "and on"))
    session.update_message(text("u2", "four, edited"))
    session.delete_messages(["u1", "nothing", "x1"])
    session.append_message(text("y1", "to go"), parent_id="a2")
    session.append_message(text("y2", "to go as well"))
    session.delete_branch("y1")
    session.select_leaf("a1")
    session.set_metadata({"title": "first"})
    session.set_metadata({"title": "second", "tags": ["a", 1, None]})


def odd_values(session: Session) -> None:
    """What JSON can hold and SQLite can't, or seldom sees."""
    session.append_message(
        {
            "id": "odd",
            "role": "user",
            "parts": [
                {"type": "text", "text": "NUL \0, half an emoji \ud83d, a whole one 😀, 漢字, \N{RIGHT-TO-LEFT MARK}"},
                {"type": "data-x", "data": [10**40, -0.0, 1.0, 1, True, None, 1e300, {"": {"": []}}]},
            ],
            "metadata": {"k\ud800": 1},
            "extra": "kept",
        }
    )
    for odd in (
        {"role": "user", "id": "role first", "parts": []},
        {"id": 'a "quoted" id', "role": "user", "parts": []},
    ):
        session.append_message(odd)


def growing(session: Session) -> None:
    """A reply that grew by insertions, and a message over 1.5 MiB."""
    reply = "It begins. " * 300
    session.append_message(text("reply", reply, "assistant"))
    for step in range(40):
        reply += f"And then, {step}. "
        session.update_message(text("reply", reply, "assistant"))
    session.append_message(text("large", "äöü€" * 140_000))


def media(session: Session) -> None:
    """One picture in two messages, one of them deleted."""
    for message_id in ("p1", "p2"):
        part = {"type": "file", "mediaType": "image/png", "url": f"data:image/png;base64,{PICTURE}"}
        session.append_message({"id": message_id, "role": "user", "parts": [part, {"type": "text", "text": "look"}]})
    session.delete_messages(["p1"])


def imported(session: Session) -> None:
    """Messages with times of their own."""
    rows = [
        ImportRow(
            text(f"i{n}", f"imported {n}"), parent_id=f"i{n - 1}" if n else None, created_at=START + timedelta(days=n)
        )
        for n in range(5)
    ]
    session.import_messages(reversed(rows))


def compacted(session: Session) -> None:
    """Overlays: one over a range whose ends are deleted later, one on a branch."""
    session.append_messages([text(f"k{n}", f"word {n}") for n in range(10)])
    session.add_compaction("The words two to five.", "k2", "k5", created_at=START)
    session.delete_messages(["k2", "k5"])
    session.append_message(text("b1", "a branch"), parent_id="k7")
    session.add_compaction("Up to the branch.", "k6", "b1", created_at=START)


def observed(store: Sessions) -> Any:
    """What every read of a store shows, JSON-ready, long texts by their digests."""
    return json.loads(json.dumps(short(everything(store))))


def short(value: Any) -> Any:
    """`value` with a digest in place of each long text."""
    if isinstance(value, str) and len(value) > LONG:
        return f"{len(value)} characters, SHA-256 {sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()}"
    if isinstance(value, dict):
        return {key: short(item) for key, item in value.items()}
    return [short(item) for item in value] if isinstance(value, list) else value


def everything(store: Sessions) -> dict[str, Any]:
    """What every read of a store shows, JSON-ready."""
    return {
        "latest_seq": store.latest_seq,
        "sessions": [info.to_dict() for info in store.list_sessions()],
        "read": {info.session_id: session_reads(store.session(info.session_id)) for info in store.list_sessions()},
        "events": [event.to_dict() for event in store.events()],
        "past": {
            str(seq): {info.session_id: view.session(info.session_id).get_history() for info in view.list_sessions()}
            for seq in range(0, store.latest_seq + 1, 7)
            for view in [store.at(seq)]
        },
    }


def session_reads(session: Session) -> dict[str, Any]:
    """What every read of a session shows, JSON-ready."""
    return {
        "tree": [info.to_dict() for info in session.tree()],
        "leaves": [info.to_dict() for info in session.get_leaves()],
        "paths": {leaf.id: session.get_history(leaf_id=leaf.id) for leaf in session.get_leaves()},
        "full": session.get_history(compacted=False),
        "recent": session.get_recent_history(500).to_dict(),
        "stats": [info.to_dict() for info in session.get_history_row_stats()],
        "roots": session.get_branches(None),
        "compactions": [compaction.to_dict() for compaction in session.get_compactions()],
        "metadata": session.get_metadata(),
        "tokens": session.token_estimate(),
    }


def make(name: str, retain: Literal["current", "all"]) -> None:
    """Writes one golden file and what it must read as."""
    path = HERE / f"{name}.db"
    path.unlink(missing_ok=True)
    with Sessions(path, retain=retain) as store:
        fill(store)
        recorded = json.dumps(observed(store), indent=1, sort_keys=True)
    path.with_suffix(".json").write_text(recorded + "\n", encoding="ascii")


if __name__ == "__main__":
    make(f"v{VERSION}-current", "current")
    make(f"v{VERSION}-all", "all")
