"""The newest messages within a budget, exactly; and the size of a path, whatever was written and whoever asks."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import apsw
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import InvalidArgument, Session, Sessions, UnknownMessage, estimate_tokens, totals
from eventstore.testing import same_json, writes
from tests.unit.talk import chain, ids, message, sized_path


def fitting(sizes: list[int], max_bytes: int | None, max_messages: int | None) -> int:
    """How many of the last fit both limits: at least one."""
    count, room = 0, max_bytes
    for size in reversed(sizes):
        if count and max_messages is not None and count == max_messages:
            break
        if room is not None:
            if count and size > room:
                break
            room -= size
        count += 1
    return count


@given(st.data(), st.none() | st.integers(1, 410), st.integers(0, 399), st.none() | st.integers(1, 399))
def test_the_longest_end_of_a_path_that_fits_both_limits(
    data: st.DataObject, max_messages: int | None, leaf: int, before: int | None
) -> None:
    session, names, sizes = sized_path(400, 37)
    end = leaf + 1 if before is None or before > leaf else before
    asked: dict[str, Any] = {"leaf_id": names[leaf], "before": names[end] if end <= leaf else None}
    some = data.draw(st.integers(1, end), label="messages that are to fit just so")
    exact = sum(sizes[end - some : end])
    max_bytes = data.draw(st.sampled_from((None, exact, exact - 1, exact + 1, 0, -1, 2**61)), label="max_bytes")
    recent = session.get_recent_history(max_bytes, max_messages=max_messages, **asked)
    count = fitting(sizes[:end], max_bytes, max_messages)
    assert ids(recent.messages) == names[end - count : end]
    assert recent.truncated == (count < end)
    assert recent.total_content_bytes == sum(sizes[: leaf + 1])
    assert recent.seq == session.sessions.latest_seq


def test_budgets_are_met_to_the_byte(session: Session) -> None:
    chain(session, "a", "b", "c")
    (size,) = {info.bytes for info in session.tree()}
    found = [ids(session.get_recent_history(size * n + more).messages) for n in (1, 2, 3) for more in (-1, 0, 1)]
    assert found == [["c"], ["c"], ["c"], ["c"], ["b", "c"], ["b", "c"], ["b", "c"], ["a", "b", "c"], ["a", "b", "c"]]
    assert session.get_recent_history(size * 3).truncated is False
    assert session.get_recent_history(size * 3 - 1).truncated is True


def test_the_newest_comes_whatever_its_size(session: Session) -> None:
    session.append_messages([message("a"), message("big", "x" * 3_000_000)])
    for limit in (0, 1, -5, 3_000_000):
        recent = session.get_recent_history(limit)
        assert ids(recent.messages) == ["big"]
        assert recent.truncated
    session.append_message(message("b"))
    assert ids(session.get_recent_history(1_000_000).messages) == ["b"]


def test_an_empty_session_has_an_empty_recent_history(sessions: Sessions, session: Session) -> None:
    sessions.session("other").append_message(message("a"))
    recent = session.get_recent_history()
    assert (recent.messages, recent.truncated, recent.total_content_bytes, recent.seq) == ([], False, 0, 1)
    chain(session, "a")
    session.delete_messages(["a"])
    assert session.get_recent_history(0).messages == []


def test_pages_backwards_meet_without_a_gap() -> None:
    session, names, _ = sized_path(400, 37)
    limits: tuple[dict[str, Any], ...] = ({"max_messages": 7}, {"max_bytes": 900}, {"max_messages": 300})
    for asked in limits:
        found: list[str] = []
        before: str | None = None
        while True:
            page = session.get_recent_history(before=before, **asked)
            found = ids(page.messages) + found
            if not page.truncated:
                break
            before = found[0]
        assert found == names
    assert session.get_recent_history(before=names[0]).messages == []
    assert session.get_recent_history(before=names[0]).truncated is False


@pytest.mark.parametrize("wrong", [1.5, "5", True])
def test_limits_that_are_no_numbers_are_refused(session: Session, wrong: Any) -> None:
    chain(session, "a")
    with pytest.raises(InvalidArgument, match="max_bytes"):
        session.get_recent_history(wrong)
    with pytest.raises(InvalidArgument, match="max_messages"):
        session.get_recent_history(max_messages=wrong)
    with pytest.raises(InvalidArgument, match="max_messages"):
        session.get_recent_history(max_messages=0)


def test_a_page_before_a_message_of_another_branch_is_refused(session: Session) -> None:
    chain(session, "a", "b", "c")
    chain(session, "x", parent_id="a")
    for before in ("b", "c"):
        with pytest.raises(InvalidArgument, match="leaf_id"):
            session.get_recent_history(before=before)
    assert ids(session.get_recent_history(before="b", leaf_id="c").messages) == ["a"]
    session.delete_messages(["b"])
    with pytest.raises(UnknownMessage):
        session.get_recent_history(before="b", leaf_id="c")


# ---- the size of a path


def check_totals(session: Any) -> None:
    """Every path's bytes and tokens, asked for twice, against the sum over its messages; the active one among them."""
    for leaf_id in (None, *(info.id for info in session.tree()), None):
        infos = session.get_history_row_stats(leaf_id=leaf_id)
        size, tokens = sum(info.bytes for info in infos), sum(info.token_estimate for info in infos)
        assert session.get_recent_history(max_messages=1, leaf_id=leaf_id).total_content_bytes == size
        assert session.token_estimate(leaf_id=leaf_id, compacted=False) == tokens
        stamped = {info.id: info.token_estimate for info in infos}
        shown = sum(stamped.get(m["id"]) or estimate_tokens(m) for m in session.get_history(leaf_id=leaf_id))
        assert session.token_estimate(leaf_id=leaf_id) == shown
        assert session.get_recent_history(0, leaf_id=leaf_id).total_content_bytes == size


KINDS = st.tuples(st.integers(0, 1), st.booleans(), st.booleans())


@pytest.mark.parametrize("tail", [0, 1, 3])
@settings(max_examples=10)
@given(done=writes(), how=st.lists(KINDS, min_size=30, max_size=30))
def test_totals_are_right_after_every_write_of_any_store(tail: int, done: list[Any], how: list[Any]) -> None:
    """Two stores on one file, writes rolled back among them: what is kept of a path never outlives its truth."""
    with pytest.MonkeyPatch.context() as patch, TemporaryDirectory() as folder:
        patch.setattr(totals, "TAIL", tail)
        patch.setattr(totals, "MOST_EVENTS", 4 + tail)
        path = Path(folder) / "a.db"
        with Sessions(path, durability="normal") as one, Sessions(path, durability="normal") as two:
            stores = (one, two)
            for write, (who, kept, asked_inside) in zip(done, how, strict=False):
                store = stores[who]
                session = store.session()
                with suppress(ZeroDivisionError), store.transaction():
                    write.apply(session)
                    if asked_inside:
                        check_totals(session)
                    if not kept:
                        raise ZeroDivisionError
                for store in stores:
                    check_totals(store.session())


@pytest.mark.parametrize("tail", [0, 1])
def test_a_sum_of_what_was_rolled_back_is_not_kept(
    session: Session, tail: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The events that come instead have the same numbers."""
    monkeypatch.setattr(totals, "TAIL", tail)
    chain(session, "a", "b")
    with suppress(ZeroDivisionError), session.sessions.transaction():
        session.append_messages([message("c", "x" * 100), message("d", "x" * 100)])
        session.get_recent_history()
        raise ZeroDivisionError
    session.append_messages([message("c"), message("d")])
    check_totals(session)


def test_totals_follow_a_long_conversation_that_grows_changes_and_shrinks(session: Session) -> None:
    chain(session, *(f"m{n}" for n in range(300)))

    def checked() -> None:
        infos = session.get_history_row_stats()
        assert session.get_recent_history(0).total_content_bytes == sum(info.bytes for info in infos)
        assert session.token_estimate() == sum(info.token_estimate for info in infos)

    checked()
    for n in range(300, 400):
        session.append_message(message(f"m{n}", "x" * n))
        if n % 7 == 0:
            session.update_message(message(f"m{n}", "streamed " * n))
        checked()
    session.update_message(message("m5", "changed far behind"))
    checked()
    session.append_message(message("branch"), parent_id="m120")
    checked()
    session.select_leaf("m399")
    checked()
    session.delete_messages(["m350", "m20", "m399"])
    checked()
    session.delete_branch("m300")
    checked()
    session.append_message(message("m300", "again"))
    checked()
    session.clear_messages()
    checked()
    chain(session, "m1", "m2")
    checked()


def test_the_newest_of_a_branch_ask_few_statements_however_long_it_is(path: Path) -> None:
    """Fewest where nothing was written since the last look; and a sum moves on seldom."""
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message(f"m{n}") for n in range(1_000)])
        session.append_message(message("aside"), parent_id="m500")
        session.select_leaf("m999")
        session.get_recent_history(max_messages=50)
        assert statements_of_a_look(session) <= 7
        counts = []
        for n in range(3 * totals.TAIL):
            session.append_message(message(f"n{n}"))
            counts.append(statements_of_a_look(session))
        assert max(counts) <= 14
        assert sum(counts) / len(counts) < 11
        infos = session.get_history_row_stats()
        assert session.get_recent_history(max_messages=50).total_content_bytes == sum(info.bytes for info in infos)


def statements_of_a_look(session: Session) -> int:
    """How many statements one read of the newest 50 runs."""
    ran: list[str] = []

    def note(_: apsw.Cursor, sql: str, _values: Any) -> bool:
        ran.append(sql)
        return True

    readers = session.sessions._store.database._readers
    with readers.lend() as connection:
        connection.exec_trace = note
    assert len(session.get_recent_history(max_messages=50).messages) == 50
    connection.exec_trace = None
    return len(ran) - ran.index("BEGIN")


def test_totals_of_views_are_those_of_their_time(sessions: Sessions, session: Session) -> None:
    expected = []
    for n in range(80):
        if n % 5 == 4:
            session.delete_messages([f"m{n - 2}"])
        elif n % 7 == 6:
            session.append_message(message(f"m{n}", "x" * n), parent_id=None)
        else:
            session.append_message(message(f"m{n}", "x" * n))
        expected.append(session.get_recent_history().total_content_bytes)
    for seq in (1, 2, 40, 79, 80):
        with sessions.at(seq) as view:
            assert view.session().get_recent_history().total_content_bytes == expected[seq - 1]
            check_totals(view.session())


def test_what_is_read_of_one_state_agrees_with_itself(sessions: Sessions, session: Session) -> None:
    chain(session, *(f"m{n}" for n in range(20)))
    recent = session.get_recent_history()
    assert same_json(recent.messages, session.get_history())
    assert recent.total_content_bytes == session.info().bytes == sum(info.bytes for info in session.tree())
    assert session.info().token_estimate == session.token_estimate()
    assert same_json(recent.to_dict()["messages"], recent.messages)
