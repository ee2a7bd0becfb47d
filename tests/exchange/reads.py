"""All that the reads of a session answer, as one value: what two equal sessions have in common."""

from __future__ import annotations

from typing import Any

from eventstore import Message, MessageInfo, Session


def _info(info: MessageInfo) -> dict[str, Any]:
    """An info without its seq, which is the number of an event and another one in each store."""
    return {key: value for key, value in info.to_dict().items() if key != "seq"}


def id_of(message: Message | None) -> str | None:
    """The id of a message, if there is one."""
    return None if message is None else message["id"]


def reads(session: Session) -> dict[str, Any]:
    """Every read. Compare two by their JSON text."""
    infos = sorted(session.tree(), key=lambda info: info.seq)
    ids = [info.id for info in infos]
    about = session.info()
    return {
        "tree": [_info(info) for info in infos],
        "tree order": [info.id for info in session.tree()],
        "messages": [session.get_message(message_id) for message_id in ids],
        "infos": [_info(info) for message_id in ids if (info := session.get_message_info(message_id))],
        "branches": [[message["id"] for message in session.get_branches(parent)] for parent in (None, *ids)],
        "leaves": [_info(info) for info in session.get_leaves()],
        "active leaf": session.get_latest_leaf(),
        "latest below": [id_of(session.get_latest_leaf(below=message_id)) for message_id in ids],
        "history": session.get_history(),
        "newest first": session.get_history(newest_first=True),
        "paths": [[message["id"] for message in session.get_history(leaf_id=message_id)] for message_id in ids],
        "row stats": [[_info(row) for row in session.get_history_row_stats(leaf_id=leaf)] for leaf in ids[-3:]],
        "recent": [session.get_recent_history(max_messages=2).messages, session.get_recent_history(200).truncated],
        "bytes of the path": session.get_recent_history().total_content_bytes,
        "tokens of the path": session.token_estimate(),
        "metadata": session.get_metadata(),
        "totals": [about.messages, about.bytes, about.token_estimate],
    }
