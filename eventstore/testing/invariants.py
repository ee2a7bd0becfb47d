"""`check_invariants`: what holds in every store at rest, whatever was written to it, asked through the public reads.

Each read is held against another way to the same answer: paths against the tree, windows against the whole, infos and
totals against the messages, the log against its head.
"""

from __future__ import annotations

from typing import Any

import attrs

from eventstore import Message, MessageInfo, Session, Sessions
from eventstore.codec import encode
from eventstore.testing.equality import json_text


def check_invariants(sessions: Sessions, *, rebuild: bool = False) -> None:
    """Raises `AssertionError`, saying what doesn't hold and where, unless all of this does.

    `verify()` is clean; the log's numbers grow; and for every session: the tree has its parents first, the paths to all
    leaves, branches and leaves are those of the tree, every way to read a path gives the same messages, infos and
    totals are those of the messages, and the active leaf is one of them.

    `rebuild` replays the log too, and looks that no read changed: for a store that may be written to. Nothing else may
    write meanwhile. The cost grows with the square of the deepest session: meant for the small stores of tests.
    """
    _check_store(sessions)
    before = [_check_session(sessions.session(info.session_id)) for info in sessions.list_sessions()]
    if rebuild:
        sessions.rebuild()
        _check_store(sessions)
        after = [_check_session(sessions.session(info.session_id)) for info in sessions.list_sessions()]
        _same("all reads after rebuild()", expected=before, found=after)


def _check_store(sessions: Sessions) -> None:
    report = sessions.verify()
    _holds(report.ok, "verify() is clean", "\n".join(report.problems))
    seqs = [event.seq for event in sessions.events(0)]
    _holds(seqs == sorted(set(seqs)), "the log's numbers grow", seqs)
    _same("latest_seq", expected=seqs[-1] if seqs else 0, found=sessions.latest_seq)
    listed = [info.seq for info in sessions.list_sessions()]
    _holds(listed == sorted(listed, reverse=True), "list_sessions() gives the newest activity first", listed)


def _check_session(session: Session) -> Any:
    """Checks one session. Gives its reads, for comparison."""
    tree = _Tree.read(session)
    _check_tree(session, tree)
    _check_totals(session, tree)
    for info in tree.infos:
        _check_message(session, info)
        _check_branches(session, tree, info.id)
    _check_branches(session, tree, None)
    for leaf in tree.leaves():
        _check_path(session, tree.path(leaf))
        _check_compacted(session, leaf.id)
    _check_log(session)
    return [session.info().to_dict(), [info.to_dict() for info in tree.infos], session.get_latest_leaf()]


@attrs.frozen
class _Tree:
    """A session's infos, with the plainest ways to walk them."""

    session_id: str
    infos: list[MessageInfo]
    by_id: dict[str, MessageInfo]

    @classmethod
    def read(cls, session: Session) -> _Tree:
        infos = list(session.tree())
        return cls(session.session_id, infos, {info.id: info for info in infos})

    def children(self, message_id: str | None) -> list[str]:
        found = [info for info in self.infos if info.parent_id == message_id]
        return [info.id for info in sorted(found, key=lambda info: info.seq)]

    def leaves(self) -> list[MessageInfo]:
        parents = {info.parent_id for info in self.infos}
        return [info for info in self.infos if info.id not in parents]

    def path(self, leaf: MessageInfo) -> list[MessageInfo]:
        path = [leaf]
        while (parent_id := path[-1].parent_id) is not None:
            path.append(self.by_id[parent_id])
        return path[::-1]


def _holds(truth: bool, claim: str, facts: object, session: Session | None = None) -> None:
    where = "" if session is None else f"session {session.session_id!r}: "
    if not truth:
        raise AssertionError(f"{where}it doesn't hold that {claim}: {facts}")


def _same(what: str, *, expected: Any, found: Any, session: Session | None = None) -> None:
    """Compares JSON texts: 1 is not 1.0."""
    where = "" if session is None else f"session {session.session_id!r}: "
    wanted, got = json_text(expected), json_text(found)
    if wanted != got:
        raise AssertionError(f"{where}{what}:\n  expected {_around(wanted, got)}\n  found    {_around(got, wanted)}")


def _around(text: str, other: str, width: int = 400) -> str:
    """`text` where it begins to differ from `other`."""
    start = next((i for i, (a, b) in enumerate(zip(text, other, strict=False)) if a != b), min(len(text), len(other)))
    first = max(0, start - width // 4)
    return ("…" if first else "") + text[first : first + width] + ("…" if first + width < len(text) else "")


def _ids(messages: list[Message]) -> list[str]:
    return [message["id"] for message in messages]


def _check_tree(session: Session, tree: _Tree) -> None:
    """Parents first, which also says that no walk upwards can loop; the leaves are those that nobody follows."""
    seen: set[str] = set()
    for info in tree.infos:
        _holds(info.id not in seen, "tree() gives each message once", info.id, session)
        _holds(
            info.parent_id is None or info.parent_id in seen,
            "tree() gives parents first",
            f"{info.id!r} comes before its parent {info.parent_id!r}",
            session,
        )
        seen.add(info.id)
    leaves = session.get_leaves()
    expected = sorted((info.to_dict() for info in tree.leaves()), key=lambda fields: fields["seq"])
    found = sorted((info.to_dict() for info in leaves), key=lambda fields: fields["seq"])
    _same("get_leaves() against tree()", expected=expected, found=found, session=session)


def _check_totals(session: Session, tree: _Tree) -> None:
    """Totals over all branches; the active leaf lives, and is where the default reads end."""
    info = session.info()
    expected = [len(tree.infos), sum(i.bytes for i in tree.infos), sum(i.token_estimate for i in tree.infos)]
    found = [info.messages, info.bytes, info.token_estimate]
    _same("info() against tree(): messages, bytes, tokens", expected=expected, found=found, session=session)
    _same("get_metadata() against info()", expected=info.metadata, found=session.get_metadata(), session=session)
    leaf = session.get_latest_leaf()
    _holds((leaf is None) == (not tree.infos), "there is an active leaf unless it is empty", leaf, session)
    path = session.get_history(compacted=False)
    if leaf is None:
        _same("get_history() of an empty session", expected=[], found=path, session=session)
    else:
        _holds(leaf["id"] in tree.by_id, "the active leaf is a living message", leaf["id"], session)
        expected_path = _ids_of(tree.path(tree.by_id[leaf["id"]]))
        _same("get_history() to the active leaf", expected=expected_path, found=_ids(path), session=session)


def _ids_of(infos: list[MessageInfo]) -> list[str]:
    return [info.id for info in infos]


def _check_message(session: Session, info: MessageInfo) -> None:
    """A message against its info."""
    message = session.get_message(info.id)
    if message is None:
        raise AssertionError(f"session {session.session_id!r}: tree() has {info.id!r}, get_message() doesn't")
    expected = [info.id, info.role, info.bytes]
    found = [message["id"], message["role"], encode(message).size]
    _same("the message against its info: id, role, bytes", expected=expected, found=found, session=session)
    alone = session.get_message_info(info.id)
    _same("get_message_info()", expected=info.to_dict(), found=alone and alone.to_dict(), session=session)


def _check_branches(session: Session, tree: _Tree, message_id: str | None) -> None:
    found = session.get_branches(message_id)
    _same(f"get_branches({message_id!r})", expected=tree.children(message_id), found=_ids(found), session=session)
    below = session.get_latest_leaf(below=message_id) if message_id is not None else None
    if below is not None:
        path = _ids_of(tree.path(tree.by_id[below["id"]]))
        _holds(message_id in path, f"get_latest_leaf(below={message_id!r}) is under it", path, session)


def _check_path(session: Session, infos: list[MessageInfo]) -> None:
    """Every way to read one path in full gives the same messages; infos and totals are theirs."""
    leaf_id = infos[-1].id
    path = session.get_history(leaf_id=leaf_id, compacted=False)
    _same(f"get_history(leaf_id={leaf_id!r})", expected=_ids_of(infos), found=_ids(path), session=session)
    _check_ways(session, leaf_id, path, compacted=False)
    stats = [info.to_dict() for info in session.get_history_row_stats(leaf_id=leaf_id)]
    expected = [info.to_dict() for info in infos]
    _same(f"get_history_row_stats(leaf_id={leaf_id!r})", expected=expected, found=stats, session=session)
    tokens = session.token_estimate(leaf_id=leaf_id, compacted=False)
    _same("token_estimate()", expected=sum(info.token_estimate for info in infos), found=tokens, session=session)
    recent = session.get_recent_history(leaf_id=leaf_id, compacted=False)
    expected_bytes = sum(info.bytes for info in infos)
    _same("total_content_bytes", expected=expected_bytes, found=recent.total_content_bytes, session=session)
    for size in {1, len(infos) // 2 or 1, len(infos)}:
        budget = sum(info.bytes for info in infos[-size:])
        _check_window(session, leaf_id, path, size, max_messages=size)
        _check_window(session, leaf_id, path, size, max_bytes=budget)


def _check_window(
    session: Session,
    leaf_id: str,
    path: list[Message],
    size: int,
    *,
    max_bytes: int | None = None,
    max_messages: int | None = None,
) -> None:
    """A recent window is the path's last `size` messages, and what comes before them is the rest."""
    recent = session.get_recent_history(max_bytes, max_messages=max_messages, leaf_id=leaf_id, compacted=False)
    what = f"get_recent_history({max_bytes}, max_messages={max_messages}, leaf_id={leaf_id!r})"
    _same(what, expected=path[-size:], found=recent.messages, session=session)
    _same(f"{what}: truncated", expected=size < len(path), found=recent.truncated, session=session)
    older = session.get_history(leaf_id=leaf_id, before=path[-size]["id"], compacted=False)
    _same(f"what comes before {what}", expected=path[:-size], found=older, session=session)


def _check_ways(session: Session, leaf_id: str, path: list[Message], *, compacted: bool) -> None:
    """An iterator, backwards, and batches: the same messages."""
    where = f"leaf_id={leaf_id!r}, compacted={compacted}"
    streamed = list(session.history(leaf_id=leaf_id, compacted=compacted))
    _same(f"history({where})", expected=path, found=streamed, session=session)
    backwards = list(session.history(leaf_id=leaf_id, newest_first=True, compacted=compacted))
    _same(f"history({where}, newest_first=True)", expected=path[::-1], found=backwards, session=session)
    batches = list(session.history_batches(leaf_id=leaf_id, batch_size=3, compacted=compacted))
    _holds(all(1 <= len(batch) <= 3 for batch in batches), "no batch is empty or too large", batches, session)
    joined = [message for batch in batches for message in batch]
    _same(f"history_batches({where})", expected=path, found=joined, session=session)


def _check_compacted(session: Session, leaf_id: str) -> None:
    """What the model sees is the path with summaries in place of runs of it."""
    shown = session.get_history(leaf_id=leaf_id)
    _check_ways(session, leaf_id, shown, compacted=True)
    ids = _ids(session.get_history(leaf_id=leaf_id, compacted=False))
    summaries = [message_id for message_id in _ids(shown) if message_id not in ids]
    stored = {f"compaction_{compaction.id}" for compaction in session.get_compactions()}
    _holds(stored.issuperset(summaries), "what isn't on the path is a stored summary", summaries, session)
    kept = [message_id for message_id in _ids(shown) if message_id in ids]
    expected = [message_id for message_id in ids if message_id in kept]
    _same("messages with summaries, in the path's order", expected=expected, found=kept, session=session)


def _check_log(session: Session) -> None:
    """A session's events are the store's that are its own."""
    expected = [
        [event.seq, event.type] for event in session.sessions.events(0) if event.session_id == session.session_id
    ]
    found = [[event.seq, event.type] for event in session.events(0)]
    _same("events()", expected=expected, found=found, session=session)
    _same("info().seq", expected=expected[-1][0] if expected else 0, found=session.info().seq, session=session)
