"""`mirror`, rule by rule, over events as they come from the feed."""

from __future__ import annotations

from collections import UserList, deque
from collections.abc import Callable, Mapping, MutableSequence
from types import MappingProxyType
from typing import Any

import pytest

from eventstore import Appended, AsyncSessions, Event, InvalidArgument, Message, Sessions, Updated
from projections import follow, mirror
from projections.positions import MANY, WATCHED
from tests.unit.recorded import Plain, Recorded, message, pending


class Box:
    """An owner who reassigns: every list that was set, newest last."""

    def __init__(self) -> None:
        self.rows: list[Any] = []
        self.sets: list[list[Any]] = []

    def get(self) -> list[Any]:
        return self.rows

    def set(self, rows: list[Any]) -> None:
        self.sets.append(rows)
        self.rows = rows


class Mirrored:
    """A mirror in one of the two forms."""

    def __init__(self, reassigns: bool, **options: Any) -> None:
        self.source = Recorded()
        self.box = Box()
        if reassigns:
            mirror(self.source.session, get=self.box.get, set=self.box.set, **options)
        else:
            mirror(self.source.session, self.box.rows, **options)

    @property
    def rows(self) -> list[Any]:
        return self.box.rows

    @property
    def ids(self) -> list[str]:
        return [row["id"] for row in self.rows]


@pytest.fixture(params=[False, True], ids=["in place", "reassigned"])
def make(request: pytest.FixtureRequest) -> Callable[..., Mirrored]:
    def build(**options: Any) -> Mirrored:
        return Mirrored(request.param, **options)

    return build


# ---- the reduction


def test_appends_are_pushed_in_their_order(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    for message_id in "abc":
        mirrored.source.append(message(message_id))
    assert mirrored.rows == [message("a"), message("b"), message("c")]


def test_an_append_takes_the_place_of_the_entry_with_its_id(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    mirrored.box.rows.extend([pending("a"), pending("b")])
    mirrored.source.append(message("a", "stored"))
    assert mirrored.rows == [message("a", "stored"), pending("b")]


def test_a_repeated_append_changes_nothing(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    mirrored.source.append(message("a", "other"), inserted=False)
    mirrored.source.append(message("b"))
    mirrored.source.append(message("b", "other"), inserted=False)
    assert mirrored.rows == [message("b")]


def test_an_update_replaces_and_stays_out_when_there_is_no_entry(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    mirrored.source.append(message("a"))
    mirrored.source.append(message("b"))
    mirrored.source.update(message("a", "new"))
    mirrored.source.update(message("c", "new"))
    assert mirrored.rows == [message("a", "new"), message("b")]


def test_a_delete_drops_what_the_list_holds(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    for message_id in "abcd":
        mirrored.source.append(message(message_id))
    mirrored.source.delete(["c", "x", "a", "c"])
    assert mirrored.ids == ["b", "d"]


@pytest.mark.parametrize("emptying", [Recorded.clear, Recorded.delete_session])
def test_a_clear_and_the_end_of_the_session_empty_the_list(
    make: Callable[..., Mirrored], emptying: Callable[[Recorded], None]
) -> None:
    mirrored = make()
    mirrored.source.append(message("a"))
    mirrored.box.rows.append(pending("b"))
    emptying(mirrored.source)
    assert mirrored.rows == []
    mirrored.source.append(message("a", "again"))
    assert mirrored.rows == [message("a", "again")]


def test_other_events_change_nothing(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    mirrored.source.append(message("a"))
    sets = len(mirrored.box.sets)
    mirrored.source.pass_by()
    assert mirrored.rows == [message("a")]
    assert len(mirrored.box.sets) == sets


def test_an_erased_event_is_skipped_before_anyone_is_asked(make: Callable[..., Mirrored]) -> None:
    asked: list[Event] = []
    mirrored = make(intercept=asked.append, on_applied=lambda *_: asked.append(_[0]))
    mirrored.source.append(message("gone"), erased=True)
    mirrored.source.update(message("gone"), erased=True)
    assert mirrored.rows == []
    assert asked == []


def test_of_several_entries_with_one_id_the_first_is_replaced_and_all_are_dropped(
    make: Callable[..., Mirrored],
) -> None:
    mirrored = make()
    mirrored.box.rows.extend([pending("a"), pending("b"), pending("a")])
    mirrored.source.append(message("a"))
    assert mirrored.rows == [message("a"), pending("b"), pending("a")]
    mirrored.source.delete(["a"])
    assert mirrored.rows == [pending("b")]


def test_entries_without_an_id_are_let_be(make: Callable[..., Mirrored]) -> None:
    others: list[Any] = ["a", None, 1, {"note": "a"}, {"id": 1}, {"id": None}, {"id": ["a"]}, object()]
    mirrored = make()
    mirrored.box.rows.extend(others)
    mirrored.source.append(message("a"))
    mirrored.source.delete(["a", "1"])
    assert mirrored.rows == others


def test_any_mapping_with_the_id_is_the_messages_entry(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    row: Mapping[str, object] = MappingProxyType({"id": "a"})
    mirrored.box.rows.append(row)
    mirrored.source.append(message("a"))
    assert mirrored.rows == [message("a")]


# ---- pending rows


def test_confirmations_in_another_order_leave_one_row_each(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    for message_id in "abc":
        mirrored.box.rows.append(pending(message_id))
    mirrored.source.append(message("b"))
    mirrored.source.append(message("a"))
    assert mirrored.rows == [message("a"), message("b"), pending("c")]


def test_a_row_that_comes_back_after_its_confirmation_is_the_owners_doing(make: Callable[..., Mirrored]) -> None:
    """The event arrives before the call that wrote it returns: an owner who then adds the row has it twice."""
    mirrored = make()
    mirrored.source.append(message("a"))
    mirrored.box.rows.append(pending("a"))
    mirrored.source.update(message("a", "new"))
    assert mirrored.rows == [message("a", "new"), pending("a")]


def test_the_owner_removes_the_last_row_and_its_id_is_appended_again(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    mirrored.source.append(message("a"))
    mirrored.source.append(message("b"))
    mirrored.box.rows.pop()
    mirrored.source.append(message("b", "again"))
    assert mirrored.rows == [message("a"), message("b", "again")]


def test_a_row_is_found_wherever_its_owner_put_it(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    for number in range(5 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
    for place in (0, 2 * WATCHED, 5 * WATCHED):
        mirrored.box.rows.insert(place, pending(f"at {place}"))
        mirrored.source.append(message(f"at {place}"))
        assert mirrored.rows[place] == message(f"at {place}")
    assert len(mirrored.rows) == 5 * WATCHED + 3


def test_a_pending_id_changed_in_place_is_found(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    mirrored.box.rows.append(pending("temporary"))
    mirrored.source.append(message("a"))
    mirrored.box.rows[0]["id"] = "b"
    mirrored.source.append(message("b"))
    assert mirrored.ids == ["b", "a"]


def test_an_exchange_far_up_is_met_at_the_next_pass() -> None:
    mirrored = Mirrored(reassigns=False)
    for number in range(3 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
    mirrored.rows[1] = pending("new")
    mirrored.source.update(message("m1", "must stay out"))
    mirrored.source.append(message("new", "stored"))
    assert mirrored.rows[1] == message("new", "stored")
    assert len(mirrored.rows) == 3 * WATCHED


def test_of_an_exchange_far_up_nothing_is_dropped_wrongly() -> None:
    mirrored = Mirrored(reassigns=False)
    for number in range(3 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
    mirrored.rows.insert(5, pending("m1"))
    mirrored.source.update(message("m1", "new"))
    mirrored.rows[5] = pending("kept")
    mirrored.source.delete(["m1"])
    assert len(mirrored.rows) == 3 * WATCHED
    assert mirrored.rows[4] == pending("kept")


def test_a_list_that_was_reassigned_is_read_whole() -> None:
    mirrored = Mirrored(reassigns=True)
    for number in range(3 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
    mirrored.box.rows = list(mirrored.rows)
    mirrored.box.rows[1] = pending("new")
    mirrored.source.append(message("new", "stored"))
    assert mirrored.rows[1] == message("new", "stored")
    assert len(mirrored.rows) == 3 * WATCHED


@pytest.mark.parametrize("transform", [None, lambda m: {"id": m["id"], "parts": m["parts"]}])
def test_rows_that_change_places_are_both_known(make: Callable[..., Mirrored], transform: Any) -> None:
    mirrored = make(transform=transform)
    for number in range(3 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
    rows = mirrored.rows
    rows[1], rows[-1] = rows[-1], rows[1]
    mirrored.source.update(message(f"m{3 * WATCHED - 1}", "new"))
    mirrored.source.append(message("m1", "new"))
    assert len(mirrored.rows) == 3 * WATCHED
    assert mirrored.rows[1]["parts"] == mirrored.rows[-1]["parts"] == message("", "new")["parts"]


def test_one_row_between_others_that_look_alike_is_found() -> None:
    """Rows without an id that are one object agree wherever they stand: they prove nothing."""
    mirrored = Mirrored(reassigns=False)
    note = {"note": "the same"}
    for number in range(3 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
        mirrored.rows.append(note)
    mirrored.rows[2:2] = [pending("new"), note]
    mirrored.source.append(message("new", "stored"))
    assert mirrored.rows[2] == message("new", "stored")
    assert len(mirrored.rows) == 2 + 6 * WATCHED


def test_after_a_reload_the_new_list_is_known(make: Callable[..., Mirrored]) -> None:
    mirrored = make()
    for number in range(3 * WATCHED):
        mirrored.source.append(message(f"m{number}"))
    mirrored.box.rows[:] = [message(f"n{number}") for number in range(3 * WATCHED)]
    mirrored.source.append(message("n1", "stored"))
    mirrored.source.update(message("m1", "must stay out"))
    assert mirrored.ids == [f"n{number}" for number in range(3 * WATCHED)]
    assert mirrored.rows[1] == message("n1", "stored")


# ---- transform


def test_a_transform_makes_the_entries(make: Callable[..., Mirrored]) -> None:
    mirrored = make(transform=lambda m: m["parts"][0]["text"])
    mirrored.source.append(message("a", "one"))
    mirrored.source.append(message("b", "two"))
    mirrored.source.update(message("a", "three"))
    mirrored.source.delete(["b"])
    assert mirrored.rows == ["three"]


def test_with_a_transform_the_owners_entries_are_never_touched(make: Callable[..., Mirrored]) -> None:
    mirrored = make(transform=lambda m: {"id": m["id"], "text": m["parts"][0]["text"]})
    mirrored.box.rows.append(pending("a"))
    mirrored.source.append(message("a", "one"))
    mirrored.source.update(message("a", "two"))
    assert mirrored.rows == [pending("a"), {"id": "a", "text": "two"}]
    mirrored.source.delete(["a"])
    assert mirrored.rows == [pending("a")]


def test_messages_may_share_one_entry(make: Callable[..., Mirrored]) -> None:
    """Equal short strings are one object in Python: their order tells the messages apart."""
    mirrored = make(transform=lambda m: m["role"])
    for message_id in "abcd":
        mirrored.source.append({"id": message_id, "role": "user", "parts": []})
    mirrored.source.update({"id": "b", "role": "B", "parts": []})
    assert mirrored.rows == ["user", "B", "user", "user"]
    mirrored.box.rows.insert(0, "the owner's")
    mirrored.source.update({"id": "d", "role": "D", "parts": []})
    mirrored.source.delete(["a"])
    assert mirrored.rows == ["the owner's", "B", "user", "D"]


def test_a_transform_may_give_the_same_entry_again(make: Callable[..., Mirrored]) -> None:
    rows: dict[str, list[str]] = {}

    def row_of(source: Message) -> list[str]:
        row = rows.setdefault(source["id"], [])
        row.append(source["parts"][0]["text"])
        return row

    mirrored = make(transform=row_of)
    mirrored.source.append(message("a", "one"))
    mirrored.source.append(message("b", "one"))
    mirrored.source.update(message("a", "two"))
    mirrored.source.update(message("a", "three"))
    assert mirrored.rows == [["one", "two", "three"], ["one"]]


def test_an_update_that_stays_out_is_not_transformed(make: Callable[..., Mirrored]) -> None:
    transformed: list[str] = []
    mirrored = make(transform=lambda m: transformed.append(m["id"]))
    mirrored.source.update(message("a"))
    mirrored.source.append(message("b"))
    mirrored.source.append(message("b"), inserted=False)
    assert transformed == ["b"]


def test_a_transform_may_edit_the_list(make: Callable[..., Mirrored]) -> None:
    def row_of(source: Message) -> str:
        if source["parts"][0]["text"] == "empty":
            mirrored.box.rows.clear()
        else:
            mirrored.box.rows.insert(0, "the owner's")
        return source["id"]

    mirrored = make(transform=row_of)
    mirrored.source.append(message("alpha"))
    mirrored.source.update(message("alpha"))
    assert mirrored.rows == ["the owner's", "the owner's", "alpha"]
    mirrored.source.update(message("alpha", "empty"))
    assert mirrored.rows == []


def test_an_own_entry_taken_out_and_put_back_is_the_owners(make: Callable[..., Mirrored]) -> None:
    mirrored = make(transform=lambda m: [m["parts"][0]["text"]])
    mirrored.source.append(message("a", "one"))
    row = mirrored.box.rows.pop()
    mirrored.source.append(message("b", "one"))
    mirrored.box.rows.append(row)
    mirrored.source.update(message("a", "two"))
    assert mirrored.rows == [["one"], ["one"]]


def test_a_deleted_entry_that_its_owner_puts_back_is_the_owners(make: Callable[..., Mirrored]) -> None:
    mirrored = make(transform=lambda m: [m["parts"][0]["text"]])
    for message_id in "abc":
        mirrored.source.append(message(message_id, message_id))
    row = mirrored.rows[0]
    mirrored.source.delete(["a"])
    mirrored.box.rows.append(row)
    mirrored.source.append(message("a", "new"))
    mirrored.source.update(message("a", "newer"))
    assert mirrored.rows == [["b"], ["c"], ["a"], ["newer"]]


def test_a_replaced_entry_that_its_owner_puts_back_is_the_owners(make: Callable[..., Mirrored]) -> None:
    mirrored = make(transform=lambda m: [m["parts"][0]["text"]])
    mirrored.source.append(message("a", "one"))
    mirrored.source.append(message("b", "one"))
    replaced = mirrored.rows[0]
    mirrored.source.update(message("a", "two"))
    mirrored.source.delete(["a"])
    mirrored.box.rows.append(replaced)
    mirrored.source.append(message("a", "three"))
    mirrored.source.update(message("a", "four"))
    assert mirrored.rows == [["one"], ["one"], ["four"]]


# ---- intercept and on_applied


def test_intercept_replaces_the_reduction_of_what_it_returns_true_for(make: Callable[..., Mirrored]) -> None:
    def intercept(event: Event) -> bool:
        kinds.append(event.type)
        return isinstance(event, Updated)

    kinds: list[str] = []
    mirrored = make(intercept=intercept)
    mirrored.source.append(message("a"))
    mirrored.source.append(message("a"), inserted=False)
    mirrored.source.update(message("a", "new"))
    mirrored.source.pass_by()
    mirrored.source.delete(["b"])
    assert mirrored.rows == [message("a")]
    assert kinds == ["append", "append", "update", "import", "select", "metadata", "compact", "compaction", "delete"]


def test_an_interceptor_may_reload_the_list(make: Callable[..., Mirrored]) -> None:
    def reload(event: Event) -> bool:
        if event.type == "compact":
            mirrored.box.rows[:] = [message("compaction_1"), message("b")]
            return True
        return False

    mirrored = make(intercept=reload)
    for message_id in "abc":
        mirrored.source.append(message(message_id))
    mirrored.source.pass_by()
    mirrored.source.update(message("b", "new"))
    mirrored.source.append(message("d"))
    assert mirrored.rows == [message("compaction_1"), message("b", "new"), message("d")]


def test_on_applied_follows_appends_and_updates(make: Callable[..., Mirrored]) -> None:
    def on_applied(event: Appended | Updated, entry: Any, previous: Any) -> None:
        assert any(row is entry for row in mirrored.rows)
        calls.append((event.type, entry, previous))

    calls: list[tuple[str, Any, Any]] = []
    mirrored = make(on_applied=on_applied)
    mirrored.box.rows.append(pending("a"))
    mirrored.source.append(message("a", "one"))
    mirrored.source.append(message("b"))
    mirrored.source.append(message("b"), inserted=False)
    mirrored.source.update(message("a", "two"))
    mirrored.source.update(message("x"))
    mirrored.source.pass_by()
    mirrored.source.delete(["a"])
    mirrored.source.clear()
    assert calls == [
        ("append", message("a", "one"), pending("a")),
        ("append", message("b"), None),
        ("update", message("a", "two"), message("a", "one")),
    ]


@pytest.mark.parametrize("hook", ["transform", "intercept"])
def test_when_a_hook_raises_before_the_change_nothing_has_changed(make: Callable[..., Mirrored], hook: str) -> None:
    def raising(given: Any) -> Any:
        if broken:
            raise RuntimeError("broken")
        return ["row"] if hook == "transform" else False

    broken: list[bool] = []
    mirrored = make(**{hook: raising})
    mirrored.source.append(message("a"))
    mirrored.source.append(message("b"))
    before, sets = list(mirrored.rows), len(mirrored.box.sets)
    broken.append(True)
    writes: list[Callable[[], object]] = [
        lambda: mirrored.source.append(message("c")),
        lambda: mirrored.source.update(message("a", "new")),
    ]
    for write in writes:
        with pytest.raises(RuntimeError):
            write()
        assert mirrored.rows == before
        assert len(mirrored.box.sets) == sets
    broken.clear()
    mirrored.source.delete(["a"])
    mirrored.source.append(message("c"))
    mirrored.source.delete(["b"])
    assert len(mirrored.rows) == 1


def test_when_on_applied_raises_the_change_stands(make: Callable[..., Mirrored]) -> None:
    def raising(*given: object) -> None:
        raise RuntimeError("broken")

    mirrored = make(on_applied=raising)
    writes: list[Callable[[], object]] = [
        lambda: mirrored.source.append(message("a")),
        lambda: mirrored.source.append(message("b")),
        lambda: mirrored.source.update(message("a", "new")),
    ]
    for write in writes:
        with pytest.raises(RuntimeError):
            write()
    mirrored.source.delete(["b"])
    assert mirrored.rows == [message("a", "new")]


def test_when_set_raises_the_owner_keeps_the_old_list() -> None:
    def set_rows(rows: list[Message]) -> None:
        if broken:
            raise RuntimeError("broken")
        box.set(rows)

    broken: list[bool] = []
    box, source = Box(), Recorded()
    mirror(source.session, get=box.get, set=set_rows)
    source.append(message("a"))
    broken.append(True)
    writes: list[Callable[[], object]] = [
        lambda: source.append(message("b")),
        lambda: source.update(message("a", "new")),
        lambda: source.delete(["a"]),
        source.clear,
    ]
    for write in writes:
        with pytest.raises(RuntimeError):
            write()
        assert box.rows == [message("a")]
    broken.clear()
    source.append(message("b"))
    source.update(message("a", "newer"))
    assert box.rows == [message("a", "newer"), message("b")]


# ---- the two forms


def test_set_is_called_once_per_change_with_a_list_of_its_own() -> None:
    box, source = Box(), Recorded()
    mirror(source.session, get=box.get, set=box.set)
    source.append(message("a"))
    source.append(message("b"))
    source.update(message("a", "new"))
    source.delete(["a", "b"])
    without_effects: list[Callable[[], object]] = [
        lambda: source.delete(["a"]),
        lambda: source.update(message("a")),
        source.clear,
        source.pass_by,
    ]
    for without_effect in without_effects:
        without_effect()
    source.append(message("c"))
    source.clear()
    assert [[row["id"] for row in rows] for rows in box.sets] == [["a"], ["a", "b"], ["a", "b"], [], ["c"], []]
    assert box.sets[1] == [message("a"), message("b")]


def test_an_owner_may_reassign_another_list_each_time() -> None:
    kept: tuple[Message, ...] = ()

    def set_rows(rows: list[Message]) -> None:
        nonlocal kept
        kept = tuple(rows)

    source = Recorded()
    mirror(source.session, get=lambda: list(kept), set=set_rows)
    source.append(message("a"))
    kept = (*kept, pending("b"), message("x"))
    source.append(message("b"))
    source.delete(["a"])
    assert kept == (message("b"), message("x"))


@pytest.mark.parametrize("kind", [list, UserList, deque, Plain])
def test_every_mutable_sequence_is_changed_in_place(kind: Callable[[], MutableSequence[Any]]) -> None:
    rows, source = kind(), Recorded()
    mirror(source.session, rows)
    for number in range(3 * MANY):
        source.append(message(f"m{number}"))
    rows.append(pending("p"))
    rows.insert(0, pending("q"))
    source.append(message("p"))
    source.append(message("q"))
    source.delete(["m7"])
    source.delete([f"m{number}" for number in range(10, 20 + MANY)])
    source.update(message("m8", "new"))
    left = [number for number in range(3 * MANY) if number != 7 and not 10 <= number < 20 + MANY]
    assert list(rows) == [
        message("q"),
        *(message(f"m{number}", "new" if number == 8 else "") for number in left),
        message("p"),
    ]
    source.clear()
    assert list(rows) == []


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"get": list},
        {"set": list},
        {"messages": [], "get": list, "set": list},
        {"messages": [], "get": list},
        {"messages": [], "set": list},
        {"messages": ()},
        {"messages": {}},
        {"messages": "text"},
        {"get": [], "set": list},
        {"messages": [], "transform": "text"},
        {"messages": [], "intercept": 1},
        {"messages": [], "on_applied": "applied"},
    ],
    ids=repr,
)
def test_arguments_that_cannot_be_meant_are_refused(arguments: dict[str, Any]) -> None:
    source = Recorded()
    untyped: Any = mirror
    with pytest.raises(InvalidArgument):
        untyped(source.session, **arguments)
    assert source.listeners == []


@pytest.mark.parametrize("projection", [mirror, follow], ids=["mirror", "follow"])
def test_what_is_no_session_is_refused(projection: Any) -> None:
    rows: list[object] = []
    with Sessions() as store:
        for wrong in (store, AsyncSessions(), "support", None):
            with pytest.raises(InvalidArgument, match=r"one session, store\.session\(name\)"):
                projection(wrong, rows)
        store.session("a").append_message(message("m1"))
    assert rows == []


@pytest.mark.parametrize("name", ["transform", "intercept", "on_applied"])
def test_a_coroutine_function_is_refused(name: str) -> None:
    async def hook(*given: object) -> None: ...

    untyped: Any = mirror
    with pytest.raises(InvalidArgument, match=name):
        untyped(Recorded().session, [], **{name: hook})


def test_it_is_a_subscription() -> None:
    source = Recorded()
    rows: list[Message] = []
    with mirror(source.session, rows, after=7):
        source.append(message("a"))
    source.append(message("b"))
    stop = mirror(source.session, rows)
    source.append(message("c"))
    stop()
    stop.close()
    source.append(message("d"))
    assert [row["id"] for row in rows] == ["a", "c"]
    assert source.after == [7, None]
