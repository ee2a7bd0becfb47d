"""Search by other processes: each sees what any of them wrote, while the index is made, and nothing that is gone."""

from __future__ import annotations

from pathlib import Path

from eventstore import Sessions
from tests.processes.running import finish, run, start
from tests.unit.talk import message


def test_what_one_process_deletes_the_other_finds_no_more(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    find = "with Sessions(sys.argv[1]) as s: print(*sorted(r.id for r in s.search(sys.argv[2], limit=None)))"
    with Sessions(path, durability="normal") as sessions:
        session = sessions.session()
        session.append_messages([message("a", "fox"), message("b", "fox wolf")])
        assert run(find, path, "fox") == "a b"
        session.update_message(message("a", "lamb"))
        assert run(find, path, "fox") == "b"
        assert run(find, path, "lamb") == "a"
        session.delete_messages(["b"])
        assert run(find, path, "fox") == run(find, path, "wolf") == ""
        run("with Sessions(sys.argv[1]) as s: s.session().append_message(message('c', 'fox'))", path)
        assert [result.id for result in sessions.search("fox")] == ["c"]
        run("with Sessions(sys.argv[1]) as s: s.session().clear_messages()", path)
        assert sessions.search("fox") == sessions.search("lamb") == []
        assert sessions.verify().problems == ()


WORK = """
with Sessions(sys.argv[1], durability="normal", busy_timeout=30) as sessions:
    mine = sessions.session(sys.argv[2])
    for number in range(60):
        mine.append_message(message(f"m{number}", f"word number{number} of{sys.argv[2]}"))
        if number % 3 == 1:
            mine.update_message(message(f"m{number - 1}", f"word changed of{sys.argv[2]}"))
        if number % 4 == 3:
            mine.delete_messages([f"m{number - 2}"])
        if number % 5 == 0:
            there = mine.info().messages
            assert len(mine.search("word", limit=None)) == there
            assert len(sessions.search(f"of{sys.argv[2]}", limit=None)) == there
"""


def test_many_processes_write_and_search_one_file(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    with Sessions(path, durability="normal") as sessions:
        sessions.session("before").append_messages([message(f"b{n}", f"word before{n}") for n in range(3_000)])
        workers = [start(WORK, path, name) for name in ("one", "two", "three")]
        for worker in workers:
            finish(worker)
        total = sum(info.messages for info in sessions.list_sessions())
        assert len(sessions.search("word", limit=None)) == total
        assert sessions.verify().problems == ()
        with Sessions(path, read_only=True) as reader:
            assert len(reader.search("word", limit=None)) == total
