"""What can be asked of a store, for tests of when all of it is refused."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from eventstore import Sessions
from tests.unit.talk import message


def every_call(sessions: Sessions, copy: Path) -> list[Callable[[], object]]:
    """Calls of a store that holds "a" and "b": of it, its session, and what was begun before. `copy` is a free name."""
    session = sessions.session()
    reading, tree, events = session.history(), session.tree(), sessions.events()
    view = sessions.at(2)
    return [
        lambda: sessions.__enter__(),
        lambda: sessions.latest_seq,
        lambda: sessions.list_sessions(),
        lambda: sessions.events(),
        lambda: sessions.poll(),
        lambda: sessions.at(0),
        lambda: sessions.verify(),
        lambda: sessions.rebuild(),
        lambda: sessions.scavenge(),
        lambda: sessions.prune(timedelta()),
        lambda: sessions.prune(timedelta(), dry_run=True),
        lambda: sessions.backup(copy),
        lambda: sessions.transaction().__enter__(),
        lambda: sessions.subscribe(print),
        lambda: sessions.subscribe(print, after=0),
        lambda: session.subscribe(print),
        lambda: session.get_history(),
        lambda: session.history(),
        lambda: session.tree(),
        lambda: session.events(),
        lambda: session.info(),
        lambda: session.get_message("a"),
        lambda: session.append_message(message("c")),
        lambda: next(reading),
        lambda: next(tree),
        lambda: next(events),
        lambda: view.__enter__(),
        lambda: view.session().get_history(),
        lambda: list(view.list_sessions()),
    ]
