"""Trees of uncommon shapes: long, wide, forked at every step, and full of messages that are gone."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eventstore import Session, Sessions
from tests.unit.talk import Heard, chain, ids, message


@pytest.fixture
def place() -> str:
    return ":memory:"


def parents(session: Session) -> dict[str, str | None]:
    return {info.id: info.parent_id for info in session.tree()}


def test_a_chain_of_five_thousand(session: Session) -> None:
    names = [f"m{n}" for n in range(5_000)]
    chain(session, *names)
    assert ids(session.get_history()) == ids(session.history()) == ids(session.tree()) == names
    assert ids(session.history(newest_first=True)) == names[::-1]
    assert ids(session.get_branches("m2500")) == ["m2501"]
    assert ids(session.get_leaves()) == ["m4999"]
    assert session.delete_branch("m4000") == names[4_000:]
    assert ids(session.get_history(newest_first=True))[0] == "m3999"


def test_a_path_of_two_thousand_chains(session: Session) -> None:
    """Each message a fork of the one before: what follows it came second."""
    with session.sessions.transaction():
        session.append_message(message("m0"))
        for n in range(1, 2_000):
            session.append_message(message(f"d{n}"), parent_id=f"m{n - 1}")
            session.append_message(message(f"m{n}"), parent_id=f"m{n - 1}")
    names = [f"m{n}" for n in range(2_000)]
    assert ids(session.get_history()) == names
    assert ids(itertools.islice(session.history(newest_first=True), 200)) == names[:-201:-1]
    assert ids(session.get_branches("m77")) == ["d78", "m78"]
    assert len(session.get_leaves()) == 2_000
    assert ids(session.get_recent_history(max_messages=3, before="m70").messages) == ["m67", "m68", "m69"]
    assert ids(session.get_history(leaf_id="d1500"))[-2:] == ["m1499", "d1500"]
    assert len(session.delete_branch("m10")) == 2 * 1_990 - 1
    assert ids(session.get_history()) == [*names[:10], "d10"]
    assert session.sessions.verify().ok


def steps(sessions: Sessions, work: Callable[[], object]) -> int:
    """How many thousands of SQLite's steps a read takes, on a machine of whatever speed."""
    counted = 0

    def count() -> bool:
        nonlocal counted
        counted += 1
        return False

    with sessions._store.database.read() as reader:
        reader.set_progress_handler(count, 1_000)
    try:
        work()
    finally:
        with sessions._store.database.read() as reader:
            reader.set_progress_handler(None)
    return counted


def test_a_tree_goes_on_over_branches_that_are_deleted_meanwhile(session: Session) -> None:
    chain(session, "a", "b")
    names = [f"f{n}" for n in range(1_200)]
    with session.sessions.transaction():
        for name in names:
            session.append_message(message(name), parent_id="a")
    reading = session.tree()
    first = [next(reading).id for _ in range(3)]
    session.delete_messages([*names[1:700], "a"])
    rest = list(reading)
    assert first == ["a", "b", "f0"]
    assert [info.id for info in rest][-500:] == names[700:]
    assert {info.parent_id for info in rest[-500:]} == {None}


@pytest.mark.parametrize("kind", ["each on the path", "one parent"])
def test_what_reads_all_leaves_costs_as_much_as_there_are(session: Session, kind: str) -> None:
    """A parent is looked for from its child up, and not by a walk down the path of each."""
    costs: dict[str, list[int]] = {"leaves": [], "tree": [], "branches": []}
    parent = "m0"
    session.append_message(message(parent))
    for start in (1, 501):
        with session.sessions.transaction():
            for n in range(start, start + 500):
                session.append_message(message(f"d{n}"), parent_id=parent)
                if kind == "each on the path":
                    session.append_message(message(f"m{n}"), parent_id=parent)
                    parent = f"m{n}"
        costs["leaves"].append(steps(session.sessions, session.get_leaves))
        costs["tree"].append(steps(session.sessions, lambda: list(session.tree())))
        costs["branches"].append(steps(session.sessions, lambda: session.get_branches("m0")))
    leaves = len(session.get_leaves())
    assert leaves == (1_001 if kind == "each on the path" else 1_000)
    for what, (half, whole) in costs.items():
        assert whole <= 3 * half + 3, f"{what}: twice as many cost {half} and {whole} thousand steps"
    assert costs["leaves"][1] < leaves * 0.4, "400 steps for each"


@pytest.mark.parametrize("kind", ["one parent", "each on the path"])
def test_a_hundred_forks(session: Session, kind: str) -> None:
    chain(session, *(f"m{n}" for n in range(100)))
    for n in range(100):
        chain(session, f"f{n}", f"g{n}", parent_id="m50" if kind == "one parent" else f"m{n}")
    assert ids(session.get_history()) == [*(f"m{n}" for n in range(51 if kind == "one parent" else 100)), "f99", "g99"]
    assert ids(session.get_history(leaf_id="g7"))[-2:] == ["f7", "g7"]
    if kind == "one parent":
        assert ids(session.get_branches("m50")) == ["m51", *(f"f{n}" for n in range(100))]
        assert session.delete_messages(["m50"]) == ["m50"]
        assert ids(session.get_branches("m49")) == ["m51", *(f"f{n}" for n in range(100))]
    assert ids(session.get_leaves())[:2] == ["g99", "g98"]
    latest = session.get_latest_leaf(below="f3")
    assert latest is not None
    assert latest["id"] == "g3"
    assert session.sessions.verify().ok


def test_thirty_answers_to_one_question_are_all_there_after_reopening(tmp_path_factory: pytest.TempPathFactory) -> None:
    path = tmp_path_factory.mktemp("regenerated") / "store.db"
    with Sessions(path) as sessions:
        session = sessions.session()
        chain(session, "q1", "a1", "question")
        for n in range(30):
            session.append_message(message(f"answer {n}"), parent_id="question")
    with Sessions(path) as sessions:
        session = sessions.session()
        assert ids(session.get_history(leaf_id="answer 0")) == ["q1", "a1", "question", "answer 0"]
        assert ids(session.get_branches("question")) == [f"answer {n}" for n in range(30)]
        assert ids(session.get_history())[-1] == "answer 29"


def test_roots_of_a_session(session: Session) -> None:
    for n in range(50):
        chain(session, f"r{n}", f"c{n}")
    assert ids(session.get_branches(None)) == [f"r{n}" for n in range(50)]
    session.delete_messages([f"r{n}" for n in range(0, 50, 2)])
    assert ids(session.get_branches(None)) == [f"{'cr'[n % 2]}{n}" for n in range(50)]
    assert ids(session.get_history()) == ["r49", "c49"]


# ---- the dead


@pytest.mark.parametrize("whole", [True, False])
def test_a_root_of_two_branches_goes_alone_or_with_all_under_it(session: Session, whole: bool) -> None:
    """Nothing is stored that no walk reaches."""
    session.append_message(message("root", "needle"))
    for branch in ("a", "b"):
        chain(session, f"{branch}1", f"{branch}2", parent_id="root")
    gone = session.delete_branch("root") if whole else session.delete_messages(["root"])
    left = [] if whole else ["a1", "a2", "b1", "b2"]
    assert sorted([*gone, *left]) == ["a1", "a2", "b1", "b2", "root"]
    assert parents(session) == {each: None if each[1] == "1" else f"{each[0]}1" for each in left}
    assert ids(session.get_branches(None)) == [each for each in left if each[1] == "1"]
    assert ids(session.get_history()) == left[2:]
    assert session.search("needle") == []
    assert session.info().messages == len(left)
    assert session.sessions.verify().ok


@pytest.mark.parametrize("branch", [True, False])
def test_a_session_opens_at_what_is_there_when_its_leaf_is_gone_or_never_was(path: Path, branch: bool) -> None:
    with Sessions(path) as sessions:
        session = sessions.session()
        chain(session, "a", "b", "c")
        chain(session, "x", "y", parent_id="a")
        with suppress(RuntimeError), sessions.transaction():
            session.append_message(message("never"), parent_id="c")
            session.select_leaf("never")
            raise RuntimeError
    with Sessions(path) as sessions:
        session = sessions.session()
        assert ids(session.get_history()) == ["a", "x", "y"]
        session.select_leaf("c")
        if branch:
            session.delete_branch("b")
        else:
            session.delete_messages(["c"])
    with Sessions(path) as sessions:
        session = sessions.session()
        assert ids(session.get_history()) == ["a", "x", "y"]
        session.append_message(message("z"))
        assert ids(session.get_history()) == ["a", "x", "y", "z"]


def test_children_hang_on_the_nearest_survivor_over_a_deep_run_of_the_dead(session: Session) -> None:
    names = [f"m{n}" for n in range(2_000)]
    chain(session, *names)
    for n in range(0, 2_000, 100):
        session.append_message(message(f"f{n}"), parent_id=f"m{n}")
    session.delete_messages(names[1:1_999])
    assert parents(session) == {"m0": None, "m1999": "m0", **{f"f{n}": "m0" for n in range(0, 2_000, 100)}}
    assert ids(session.get_branches("m0")) == ["m1999", *(f"f{n}" for n in range(0, 2_000, 100))]
    session.delete_messages(["m0"])
    assert set(parents(session).values()) == {None}
    assert len(session.get_branches(None)) == 21
    assert ids(session.get_history()) == ["f1900"]
    assert session.sessions.verify().ok


def test_forks_of_chains_that_died_whole(session: Session) -> None:
    """A chain without a living message, from which others fork that are alive, five hundred deep."""
    session.append_message(message("root"))
    session.append_message(message("beside"))
    parent = "root"
    names = []
    for n in range(500):
        names.append(f"m{n}")
        session.append_message(message(names[-1]), parent_id=parent)
        session.append_message(message(f"aside {n}"), parent_id=names[-1])
        parent = names[-1]
    session.append_message(message("leaf"), parent_id=parent)
    session.delete_messages(names)
    assert ids(session.get_history()) == ["root", "leaf"]
    expected = ["beside", *(f"aside {n}" for n in range(500)), "leaf"]
    assert ids(session.get_branches("root")) == expected
    assert {info.parent_id for info in session.tree() if info.id != "root"} == {"root"}
    session.delete_messages([each for each in expected if each != "aside 250"])
    assert parents(session) == {"root": None, "aside 250": "root"}
    session.append_message(message("new"), parent_id="aside 250")
    assert ids(session.get_history()) == ["root", "aside 250", "new"]
    assert session.sessions.verify().ok


def test_the_active_leaf_falls_back_to_what_was_touched_before(session: Session) -> None:
    chain(session, "a", "b", "c")
    chain(session, "x", "y", parent_id="a")
    session.select_leaf("b")
    chain(session, "z", parent_id="a")
    touched = ["z", "b", "y", "x", "c", "a"]
    for gone, left in itertools.pairwise([*touched, None]):
        leaf = session.get_latest_leaf()
        assert leaf is not None
        assert leaf["id"] == gone
        assert gone is not None
        session.delete_messages([gone])
        leaf = session.get_latest_leaf()
        assert (leaf and leaf["id"]) == left
    assert session.get_latest_leaf() is None


def test_a_leaf_that_was_selected_often_and_then_deleted(session: Session) -> None:
    chain(session, "a", "b")
    chain(session, "c", parent_id="a")
    for _ in range(200):
        session.select_leaf("b")
        session.select_leaf("c")
    session.delete_messages(["c", "b"])
    assert ids(session.get_history()) == ["a"]


def test_what_was_selected_and_is_gone_is_nobodys_latest(session: Session) -> None:
    chain(session, "a", "b", "c")
    chain(session, "d", parent_id="a")
    session.select_leaf("c")
    session.delete_messages(["c"])
    for below, latest in (("a", "d"), ("b", "b")):
        leaf = session.get_latest_leaf(below=below)
        assert leaf is not None
        assert leaf["id"] == latest
    assert ids(session.get_leaves()) == ["d", "b"]


def test_forty_thousand_ids_in_one_call(session: Session) -> None:
    """More than SQLite has parameters for one statement."""
    names = [f"m{n}" for n in range(10_000)]
    session.append_messages([message(name) for name in names])
    heard = Heard()
    session.subscribe(heard)
    asked = [f"x{n}" for n in range(30_000)] + names[::-1]
    assert session.delete_messages(asked) == names[::-1]
    assert len(heard) == 1
    assert heard[0].message_ids == tuple(names[::-1])  # type: ignore[attr-defined]
    assert session.info().messages == 0
    assert session.info().bytes == 0


def test_a_message_deleted_while_it_streams_does_not_come_back(sessions: Sessions, session: Session) -> None:
    chain(session, "a", "b")
    session.update_message(message("b", "half"))
    session.delete_messages(["b"])
    heard = Heard()
    sessions.subscribe(heard)
    assert session.update_message(message("b", "half and more")) is None
    assert ids(session.get_history()) == ["a"]
    assert heard == []


def test_an_id_comes_again_as_another_message(session: Session) -> None:
    chain(session, "a", "b", "c")
    first = session.get_message_info("b")
    session.delete_messages(["b"])
    session.append_message(message("b", "another"))
    second = session.get_message_info("b")
    assert first is not None
    assert second is not None
    assert (second.seq, second.parent_id) == (5, "c")
    assert first.seq == 2
    assert ids(session.get_history()) == ["a", "c", "b"]


SHAPES = st.lists(st.tuples(st.integers(0, 10**6), st.booleans(), st.integers(0, 10**6)), min_size=1, max_size=40)


@settings(max_examples=60)
@given(SHAPES)
def test_children_parents_paths_and_leaves_are_one_tree(shape: list[tuple[int, bool, int]]) -> None:
    """After every delete: the children of each are those whose parent it is, in the order of their coming."""
    with Sessions() as sessions:
        session = sessions.session()
        living: dict[str, str | None] = {}
        for n, (under, delete, whom) in enumerate(shape):
            names = list(living)
            parent = names[under % len(names)] if names and under % 7 else None
            session.append_message(message(f"m{n}"), parent_id=parent)
            living[f"m{n}"] = parent
            if delete:
                gone = [*living][whom % len(living)]
                session.delete_messages([gone])
                above = living.pop(gone)
                living = {name: above if over == gone else over for name, over in living.items()}
        assert parents(session) == living
        for name in (None, *living):
            assert ids(session.get_branches(name)) == [each for each, over in living.items() if over == name]
        assert set(ids(session.get_leaves())) == set(living) - set(living.values())
        for name in living:
            path: list[str] = []
            at: str | None = name
            while at is not None:
                path.insert(0, at)
                at = living[at]
            assert ids(session.get_history(leaf_id=name)) == path
        assert sessions.verify().ok
