"""What is asked of every importer, of what it read and of what was stored of it."""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from eventstore import Sessions
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.store import store
from tests.exchange.mappings import check_laws, ids, shape
from tests.exchange.test_store import check_stored


def stored_whole(reading: Iterable[Conversation]) -> None:
    """Everything is stored, each message reachable, and the second time nothing is written."""
    with Sessions() as sessions:
        read = [*reading]
        for each in read:
            check_laws(each)
            report = store(sessions, each)
            assert report.imported + report.known == len(each.rows)
            assert report.skipped == each.skipped
            once = [other.session_id for other in read].count(each.session_id) == 1
            if each.rows and once:
                check_stored(sessions, each)
        seq = sessions.latest_seq
        told_again = {each.session_id: each for each in read}  # of one that the file tells twice the last
        assert [store(sessions, each).imported for each in told_again.values()] == [0] * len(told_again)
        assert sessions.latest_seq == seq
        assert sessions.verify().ok


def grown(read: Conversation, messages: int) -> None:
    """An export of the first messages, then all of it: only what is new is added, and the title follows."""
    with Sessions() as sessions:
        rows = read.rows[:messages]
        store(sessions, attrs.evolve(read, rows=rows, current=None, metadata={**read.metadata, "title": "Before"}))
        report = store(sessions, read)
        assert (report.imported, report.known) == (len(read.rows) - messages, messages)
        session = sessions.session(read.session_id)
        assert {info.id: info.parent_id for info in session.tree()} == shape(read.rows)
        assert session.get_metadata().get("title", "Before") == read.metadata.get("title", "Before")
        leaf = session.get_latest_leaf()
        assert leaf is not None
        if read.current is not None and report.imported:
            assert leaf["id"] == read.current


def selection_stays(read: Conversation) -> None:
    """What a person selected stays where nothing is new."""
    with Sessions() as sessions:
        store(sessions, read)
        first = ids(read.rows)[0]
        session = sessions.session(read.session_id)
        session.select_leaf(first)
        store(sessions, read)
        leaf = session.get_latest_leaf()
        assert leaf is not None
        assert leaf["id"] == first
