"""The policy of compaction: when it runs, what it must not disturb, and what makes it give up."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from eventstore import (
    Appended,
    Compacted,
    CompactResult,
    Event,
    InvalidArgument,
    InvalidCompaction,
    Message,
    Session,
    Sessions,
    UnknownMessage,
    create_compact_function,
)


def message(number: int, text: str = "some words to count") -> Message:
    return {
        "id": f"m{number}",
        "role": "user" if number % 2 else "assistant",
        "parts": [{"type": "text", "text": text}],
    }


def fill(session: Session, first: int, last: int) -> None:
    session.append_messages([message(number) for number in range(first, last + 1)])


def ids(messages: list[Message]) -> list[str]:
    """Ids, a summary by its text."""
    return [m["parts"][0]["text"] if m["id"].startswith("compaction_") else m["id"] for m in messages]


def numbered() -> Callable[[str], str]:
    """A summariser that answers S1, S2, …"""
    count = 0

    def summarize(prompt: str) -> str:
        nonlocal count
        count += 1
        return f"S{count}"

    return summarize


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Sessions]:
    with Sessions(tmp_path / "store.db", durability="normal") as sessions:
        yield sessions


@pytest.fixture
def session(store: Sessions) -> Session:
    return store.session()


def compacting(session: Session, summarize: Callable[[str], str] | None = None, keep: int = 0) -> Session:
    return session.on_compaction(create_compact_function(summarize or numbered(), keep_recent_tokens=keep))


# ---- ranges


def test_two_compactions_of_disjoint_ranges_are_both_shown(session: Session) -> None:
    fill(session, 1, 8)
    session.add_compaction("A", "m1", "m3")
    session.add_compaction("B", "m4", "m6")
    assert ids(session.get_history()) == ["A", "B", "m7", "m8"]


def test_a_fork_from_before_the_end_shows_the_messages(session: Session) -> None:
    fill(session, 1, 10)
    session.add_compaction("A", "m1", "m6")
    for leaf, shown in (("m4", ["m1", "m2", "m3", "m4"]), ("m6", ["A"]), ("m8", ["A", "m7", "m8"])):
        session.append_message({"id": f"fork {leaf}", "role": "user", "parts": []}, parent_id=leaf)
        assert ids(session.get_history()) == [*shown, f"fork {leaf}"]


@pytest.mark.parametrize("gone", ["m2", "m3", "m5"])
def test_an_overlay_outlives_its_messages(session: Session, gone: str) -> None:
    fill(session, 1, 7)
    session.add_compaction("A", "m2", "m5")
    session.delete_messages([gone])
    assert ids(session.get_history()) == ["m1", "A", "m6", "m7"]


def test_a_summary_goes_with_the_last_of_its_messages(store: Sessions, session: Session) -> None:
    fill(session, 1, 6)
    done = session.add_compaction("a secret summary", "m2", "m4")
    session.delete_messages(["m2", "m4"])
    assert session.get_compactions()[0].summary == "a secret summary"
    session.delete_messages(["m3"])
    assert ids(session.get_history()) == ["m1", "m5", "m6"]
    assert [c.summary for c in session.get_compactions()] == [""]
    told = [event for event in store.events() if isinstance(event, Compacted)]
    assert [(event.erased, event.compaction.summary) for event in told] == [(True, "")]
    with store.at(done.seq) as view:
        shown = view.session().get_history()
    assert [m["parts"] for m in shown if m["id"].startswith("compaction_")] == [[{"type": "erased"}]]
    assert store.verify().ok
    store.close()
    assert b"a secret summary" not in Path(store._store.database.path).read_bytes()


@pytest.mark.parametrize(
    ("first", "last", "summary", "error"),
    [
        ("m3", "m2", "S", InvalidCompaction),
        ("m1", "beside", "S", None),
        ("m3", "beside", "S", InvalidCompaction),
        ("m1", "m2", " \n", InvalidCompaction),
        ("m1", "m2", "", InvalidCompaction),
        ("m1", "nobody", "S", UnknownMessage),
        ("compaction_nobody", "m2", "S", UnknownMessage),
        (3, "m2", "S", InvalidArgument),
    ],
)
def test_a_range_is_two_messages_of_one_path_in_order(
    store: Sessions, session: Session, first: Any, last: Any, summary: str, error: type[Exception] | None
) -> None:
    fill(session, 1, 4)
    session.append_message({"id": "beside", "role": "user", "parts": []}, parent_id="m2")
    head = store.latest_seq
    if error is None:
        assert session.add_compaction(summary, first, last).to_message_id == last
        return
    with pytest.raises(error):
        session.add_compaction(summary, first, last)
    assert store.latest_seq == head


def test_an_overlays_id_stands_for_its_first_or_last_message(session: Session) -> None:
    fill(session, 1, 9)
    inner = session.add_compaction("A", "m3", "m4")
    session.add_compaction("B", f"compaction_{inner.id}", "m6")
    assert ids(session.get_history()) == ["m1", "m2", "B", "m7", "m8", "m9"]
    newest = session.get_compactions()[-1]
    assert (newest.from_message_id, newest.to_message_id) == ("m3", "m6")
    page = session.get_recent_history(max_messages=1, before=f"compaction_{newest.id}")
    assert ids(page.messages) == ["m2"]
    with pytest.raises(UnknownMessage):
        session.append_message(message(10), parent_id=f"compaction_{newest.id}")


def test_a_compaction_keeps_the_time_that_it_is_given(session: Session) -> None:
    fill(session, 1, 3)
    when = datetime(2020, 1, 2, tzinfo=UTC)
    assert session.add_compaction("A", "m1", "m2", created_at=when).created_at == when
    assert session.get_compactions()[0].created_at == when
    with pytest.raises(InvalidArgument):
        session.add_compaction("B", "m1", "m2", created_at=datetime(2020, 1, 2))


def test_a_posted_back_context_stores_nothing(session: Session) -> None:
    fill(session, 1, 8)
    session.add_compaction("A", "m1", "m5")
    before = session.info().messages
    session.append_messages(session.get_history())
    assert session.info().messages == before


# ---- on call


def test_a_called_compaction_keeps_the_head_and_the_tail(session: Session) -> None:
    heard: list[Event] = []
    session.subscribe(heard.append)
    fill(session, 1, 10)
    done = compacting(session).compact()
    assert done is not None
    assert (done.from_message_id, done.to_message_id, done.summary) == ("m4", "m8", "S1")
    assert ids(session.get_history()) == ["m1", "m2", "m3", "S1", "m9", "m10"]
    assert session.compact() is None, "nothing new"
    assert isinstance(heard[-1], Compacted)
    assert (heard[-1].type, heard[-1].compaction) == ("compact", done)


@pytest.mark.parametrize("answer", ["", " \n", RuntimeError("no"), KeyboardInterrupt()])
def test_a_summariser_that_fails_changes_nothing(
    store: Sessions, session: Session, answer: str | BaseException
) -> None:
    def summarize(prompt: str) -> str:
        if isinstance(answer, BaseException):
            raise answer
        return answer

    fill(session, 1, 10)
    compacting(session, summarize)
    head, shown = store.latest_seq, session.get_history()
    if isinstance(answer, str):
        assert session.compact() is None
    else:
        with pytest.raises(type(answer)):
            session.compact()
    assert (store.latest_seq, session.get_history()) == (head, shown)
    assert compacting(session).compact() is not None, "the next one is not kept out"


@pytest.mark.parametrize("failure", [ZeroDivisionError, StopIteration])
@pytest.mark.parametrize("failing", range(4, 11))
def test_a_counter_that_raises_stops_a_compaction(session: Session, failure: type[Exception], failing: int) -> None:
    def count(given: Message) -> int:
        if given["id"] == f"m{failing}":
            raise failure
        return 1

    fill(session, 1, 10)
    session.on_compaction(create_compact_function(numbered(), keep_recent_tokens=0, count_tokens=count))
    with pytest.raises(failure):
        session.compact()
    assert session.get_compactions() == []


def test_misuse_is_refused(store: Sessions, session: Session) -> None:
    async def summarize(prompt: str) -> str:
        return "S"

    fill(session, 1, 10)
    with pytest.raises(InvalidArgument, match="on_compaction"):
        session.compact()
    with pytest.raises(InvalidArgument, match="synchronous"):
        session.on_compaction(create_compact_function(summarize))  # type: ignore[arg-type]
    with pytest.raises(InvalidArgument):
        session.compact_after(-1)
    with store.transaction(), pytest.raises(InvalidArgument, match="transaction"):
        compacting(session).compact()
    session.on_compaction(lambda messages: "S")  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidArgument, match="CompactResult"):
        session.compact()
    session.on_compaction(lambda messages: CompactResult("m5", "m4", "S"))
    with pytest.raises(InvalidCompaction):
        session.compact()
    compacting(session, lambda prompt: session.compact() or "S")  # type: ignore[arg-type, return-value]
    with pytest.raises(InvalidArgument, match="inside"):
        session.compact()
    assert session.get_compactions() == []


@pytest.mark.parametrize("what", ["delete", "delete the start", "clear", "other compaction", "delete under a summary"])
def test_a_result_that_is_out_of_date_is_dropped(session: Session, what: str) -> None:
    def summarize(prompt: str) -> str:
        match what:
            case "delete":
                session.delete_messages(["m6"])
            case "delete the start":
                session.delete_messages(["m4"])
            case "clear":
                session.clear_messages()
            case "delete under a summary":
                session.delete_messages(["m5"])
            case _:
                session.add_compaction("other", "m1", "m2")
        return "S"

    fill(session, 1, 10)
    if what == "delete under a summary":
        session.add_compaction("earlier", "m4", "m6")
    compacting(session, summarize)
    assert session.compact() is None
    assert "S" not in [compaction.summary for compaction in session.get_compactions()]


@pytest.mark.parametrize("what", ["update", "delete behind", "delete beside", "append", "select"])
def test_what_is_not_covered_may_change_meanwhile(session: Session, what: str) -> None:
    def summarize(prompt: str) -> str:
        match what:
            case "update":
                session.update_message(message(5, "other words"))
            case "delete behind":
                session.delete_messages(["m10", "m1"])
            case "delete beside":
                session.delete_messages(["beside"])
            case "select":
                session.select_leaf("beside")
            case _:
                session.append_message(message(11))
        return "S"

    fill(session, 1, 5)
    session.append_message({"id": "beside", "role": "user", "parts": []}, parent_id="m4")
    session.append_messages([message(number) for number in range(6, 11)], parent_id="m5")
    compacting(session, summarize)
    assert session.compact() is not None


def test_a_message_that_comes_while_a_slow_summariser_runs_is_behind_the_summary(session: Session) -> None:
    started, go_on = threading.Event(), threading.Event()

    def summarize(prompt: str) -> str:
        started.set()
        assert go_on.wait(10)
        return "S"

    fill(session, 1, 10)
    compacting(session, summarize)
    thread = threading.Thread(target=session.compact)
    thread.start()
    assert started.wait(10)
    session.append_message(message(11))  # doesn't wait
    assert session.get_history()[-1]["id"] == "m11"
    go_on.set()
    thread.join(10)
    assert ids(session.get_history()) == ["m1", "m2", "m3", "S", "m9", "m10", "m11"]


# ---- by itself


def test_an_append_above_the_threshold_is_compact_when_it_returns(session: Session) -> None:
    order: list[str] = []
    session.subscribe(lambda event: order.append(event.type))
    compacting(session).compact_after(90)
    for number in range(1, 13):
        session.append_message(message(number))
        assert session.token_estimate() <= 90
    assert "S1" in ids(session.get_history())
    assert order[order.index("compact") - 1] == "append"
    session.compact_after(None)
    stored = len(session.get_compactions())
    fill(session, 13, 30)
    assert len(session.get_compactions()) == stored


def test_it_is_due_by_what_the_compacted_path_has_grown_to(session: Session) -> None:
    asked: list[str] = []

    def summarize(prompt: str) -> str:
        asked.append(prompt)
        return f"S{len(asked)}"

    session.append_message(message(0))
    tokens = session.token_estimate()
    compacting(session, summarize, keep=40).compact_after(200)
    for number in range(1, 120):
        before, runs = session.token_estimate(), len(asked)
        session.append_message(message(number))
        assert len(asked) - runs == (before + tokens > 200)
        assert session.token_estimate() <= 200
    assert len(asked) > 3


def test_each_summary_is_made_of_the_one_before_and_what_is_new(session: Session) -> None:
    """Summaries don't nest, and prompts don't grow with how often it was done."""
    prompts: list[str] = []

    def summarize(prompt: str) -> str:
        prompts.append(prompt)
        return f"<summary {len(prompts)}>"

    compacting(session, summarize)
    said = [f"<words {number:03}>" for number in range(70)]
    for first in range(0, 70, 10):
        session.append_messages([message(number, said[number]) for number in range(first, first + 10)])
        assert session.compact() is not None
    for number, prompt in enumerate(prompts):
        assert [earlier for earlier in range(1, number + 1) if f"<summary {earlier}>" in prompt] == [number][:number]
        assert prompt.count(f"<summary {number}>") == min(number, 1)
    asked = [sum(text in prompt for prompt in prompts) for text in said]
    assert asked == [0] * 3 + [1] * 65 + [0] * 2
    assert max(map(len, prompts[1:])) - min(map(len, prompts[1:])) < 20
    assert ids(session.get_history()) == ["m0", "m1", "m2", "<summary 7>", "m68", "m69"]


def test_a_failing_automatic_compaction_is_logged_and_waits_for_growth(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    asked: list[int] = []

    def summarize(prompt: str) -> str:
        asked.append(session.token_estimate())
        raise RuntimeError("no model today")

    compacting(session, summarize).compact_after(500)
    with caplog.at_level(logging.ERROR, "eventstore"):
        for number in range(1, 101):
            assert session.append_message(message(number)).inserted
    assert session.get_compactions() == []
    assert len(asked) >= 2
    assert all(later - sooner >= 50 for sooner, later in pairwise(asked))
    assert len(caplog.records) == len(asked)


def test_a_compaction_without_gain_is_not_tried_at_every_append(session: Session) -> None:
    asked: list[int] = []

    def summarize(prompt: str) -> str:
        asked.append(session.token_estimate())
        return "a very long summary " * 200

    compacting(session, summarize).compact_after(300)
    fill(session, 1, 30)
    for number in range(31, 61):
        session.append_message(message(number))
    assert 2 < len(asked) < 15
    assert all(later - sooner >= 0 for sooner, later in pairwise(asked[1:]))


def test_inside_a_transaction_it_runs_after_the_outermost_commit(store: Sessions, session: Session) -> None:
    compacting(session).compact_after(40)
    with store.transaction():
        with store.transaction():
            fill(session, 1, 10)
        assert session.get_compactions() == []
    assert ids(session.get_history()) == ["m1", "m2", "m3", "S1", "m9", "m10"]


def test_nothing_runs_for_a_transaction_that_is_rolled_back(store: Sessions, session: Session) -> None:
    prompts: list[str] = []
    compacting(session, lambda prompt: prompts.append(prompt) or "S").compact_after(40)  # type: ignore[func-returns-value]

    def fail() -> None:
        with store.transaction():
            fill(session, 1, 10)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    store.session("other").append_message(message(1))
    assert (prompts, session.get_history()) == ([], [])


def test_an_append_inside_a_listener_compacts_when_the_queue_is_drained(store: Sessions, session: Session) -> None:
    compacting(session).compact_after(40)
    seen: list[tuple[str, int]] = []

    def listener(event: Event) -> None:
        seen.append((event.type, len(session.get_compactions())))
        if isinstance(event, Appended) and event.session_id == "other":
            fill(session, 1, 10)

    store.subscribe(listener)
    store.session("other").append_message(message(1))
    assert seen == [("append", 0)] * 11 + [("compact", 1)]


def test_other_threads_append_while_an_automatic_compaction_runs(session: Session) -> None:
    started, go_on = threading.Event(), threading.Event()
    running: list[int] = []

    def summarize(prompt: str) -> str:
        running.append(len(running))
        started.set()
        assert go_on.wait(10)
        return "S"

    fill(session, 1, 9)
    compacting(session, summarize).compact_after(40)
    thread = threading.Thread(target=session.append_message, args=[message(10)])
    thread.start()
    assert started.wait(10)
    for number in range(11, 15):
        session.append_message(message(number))
    assert thread.is_alive()
    go_on.set()
    thread.join(10)
    assert running == [0], "one at a time"
    assert ids(session.get_history())[3:] == ["S", "m9", "m10", "m11", "m12", "m13", "m14"]


def test_an_interrupt_leaves_the_append_and_no_overlay(session: Session) -> None:
    def summarize(prompt: str) -> str:
        raise KeyboardInterrupt

    fill(session, 1, 9)
    compacting(session, summarize).compact_after(40)
    with pytest.raises(KeyboardInterrupt):
        session.append_message(message(10))
    assert ids(session.get_history())[-1] == "m10"
    assert session.get_compactions() == []
    compacting(session)
    session.append_message(message(11))
    assert "S1" in ids(session.get_history())


def test_clear_keeps_the_settings(session: Session) -> None:
    compacting(session).compact_after(40)
    fill(session, 1, 10)
    session.clear_messages()
    assert session.get_compactions() == []
    fill(session, 11, 20)
    assert "S2" in ids(session.get_history())


def test_another_stores_compaction_is_seen_at_once(store: Sessions, session: Session) -> None:
    fill(session, 1, 200)
    before = session.token_estimate()
    with Sessions(store._store.database.path) as other:
        other.session().add_compaction("A", "m1", "m100")
        assert session.token_estimate() < before
        assert session.token_estimate() == other.session().token_estimate()
        assert len(session.get_history()) == 101
        head = store.latest_seq
        compacting(session, lambda prompt: other.session().add_compaction("B", "m101", "m102").summary)
        assert session.compact() is None, "another was stored meanwhile"
        assert store.latest_seq == head + 1


def test_a_summary_of_any_length_and_text_reads_back_equal(store: Sessions, session: Session) -> None:
    fill(session, 1, 4)
    summary = "half \ud83d and nul \x00 " + "é" * 2_000_000
    done = session.add_compaction(summary, "m1", "m2")
    assert done.summary == summary
    assert session.get_history()[0]["parts"][0]["text"] == summary
    assert session.get_compactions()[0].summary == summary
    assert session.get_recent_history(max_messages=3).messages[0]["id"] == f"compaction_{done.id}"
    assert next(iter(session.history()))["parts"][0]["text"] == summary
    assert store.verify().ok
    store.rebuild()
    session.copy_to(store.session("copy"))
    assert store.session("copy").get_history() == session.get_history()


def test_an_overlay_counts_at_its_summarys_size_in_a_window(session: Session) -> None:
    fill(session, 1, 4)
    session.add_compaction("é" * 10, "m1", "m3")
    newest = session.get_history_row_stats()[-1].bytes
    summary = len('"' + "é" * 10 + '"') + 10
    for room, shown in ((newest + summary, 2), (newest + summary - 1, 1)):
        recent = session.get_recent_history(room)
        assert (len(recent.messages), recent.truncated) == (shown, shown == 1)
        assert recent.total_content_bytes == sum(info.bytes for info in session.get_history_row_stats())


def test_a_copy_tells_listeners_of_its_summaries(store: Sessions, session: Session) -> None:
    fill(session, 1, 4)
    done = session.add_compaction("A", "m1", "m2", created_at=datetime(2020, 1, 2, tzinfo=UTC))
    heard: list[Event] = []
    copy = store.session("copy")
    copy.subscribe(heard.append)
    session.copy_to(copy)
    (told,) = (event for event in heard if isinstance(event, Compacted))
    assert (told.compaction.summary, told.compaction.created_at) == ("A", done.created_at)
    assert [event for event in copy.events() if isinstance(event, Compacted)] == [told]


def test_appends_of_a_listener_that_is_caught_up_or_polled_compact_too(store: Sessions, session: Session) -> None:
    compacting(session).compact_after(40)
    store.session("other").append_message(message(1))

    def listener(event: Event) -> None:
        if isinstance(event, Appended) and event.session_id == "other":
            session.append_messages([{**message(n), "id": f"{event.seq}-{n}"} for n in range(10)])

    with store.session("other").subscribe(listener, after=0):
        assert [c.summary for c in session.get_compactions()] == ["S1"]
        with Sessions(store._store.database.path) as other:
            other.session("other").append_message(message(2))
        store.poll()
        assert [c.summary for c in session.get_compactions()] == ["S1", "S2"]


def test_a_listener_does_not_wait_for_another_threads_compaction(store: Sessions, session: Session) -> None:
    started, go_on = threading.Event(), threading.Event()
    refused: list[Exception] = []

    def summarize(prompt: str) -> str:
        started.set()
        assert go_on.wait(10)
        return "S"

    def listener(event: Event) -> None:
        if event.session_id == "other":
            try:
                session.compact()
            except InvalidArgument as error:
                refused.append(error)

    fill(session, 1, 10)
    compacting(session, summarize)
    store.subscribe(listener)
    thread = threading.Thread(target=session.compact)
    thread.start()
    assert started.wait(10)
    store.session("other").append_message(message(1))
    go_on.set()
    thread.join(10)
    assert len(refused) == 1
    assert len(session.get_compactions()) == 1


def _within(session: Session) -> None:
    with session.sessions.transaction(), session.sessions.transaction():
        session.append_message(message(1))


APPENDS: dict[str, Callable[[Session], object]] = {
    "one": lambda session: session.append_message(message(1)),
    "a batch": lambda session: session.append_messages([message(1), message(2)]),
    "an upsert": lambda session: session.upsert_message(message(1)),
    "in a transaction": _within,
}


def _unknown(store: Sessions) -> None:
    with pytest.raises(UnknownMessage):
        store.session("other").append_message(message(3), parent_id="nowhere")


def _rolled_back(store: Sessions) -> None:
    with pytest.raises(ZeroDivisionError), store.transaction():  # noqa: PT012
        store.session("other").append_message(message(3))
        raise ZeroDivisionError


@pytest.mark.parametrize("append", APPENDS.values(), ids=APPENDS)
@pytest.mark.parametrize("refused", [_unknown, _rolled_back], ids=["refused", "rolled back"])
def test_a_listener_whose_own_write_is_rolled_back_keeps_no_session_from_being_compacted(
    store: Sessions, session: Session, append: Callable[[Session], object], refused: Callable[[Sessions], None]
) -> None:
    fill(session, 11, 30)
    compacting(session).compact_after(session.token_estimate())

    def listener(event: Event) -> None:
        if isinstance(event, Appended):
            refused(store)

    store.subscribe(listener)
    append(session)
    assert [c.summary for c in session.get_compactions()] == ["S1"]


def test_what_is_kept_is_compacted_when_a_part_is_rolled_back(store: Sessions, session: Session) -> None:
    fill(session, 11, 30)
    compacting(session).compact_after(session.token_estimate())
    with store.transaction():
        session.append_message(message(1))
        _rolled_back(store)
    assert [c.summary for c in session.get_compactions()] == ["S1"]
