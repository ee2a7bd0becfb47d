"""The kinds of work for which threads, processes or files of their own are needed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from tests.benchmarks.bench import Bench
from tests.benchmarks.fresh import python, seconds_to_line
from tests.benchmarks.peers.compare import OURS, Cell, Row, Unable, interleave
from tests.benchmarks.peers.contract import Store
from tests.benchmarks.peers.field import conversation, fresh
from tests.benchmarks.peers.roster import Entry

THREADS = 10
PROCESSES = 4
BUDGET = 30.0  # seconds that a store may take for a line
_CHILD = ("-m", "tests.benchmarks.peers.child")


def apart(bench: Bench, entries: Sequence[Entry]) -> Iterator[Row]:
    """Every line, as soon as it is measured."""
    yield _timed(bench, entries, "threads", f"{THREADS} threads append to one file: a message", _threads)
    yield _timed(bench, entries, "processes", f"{PROCESSES} processes append to one file: a message", _processes)
    yield _disk(bench, entries)
    files = {entry.name: _filled(bench, entry, bench.sizes.short) for entry in entries}
    yield _start(bench, entries, files)
    files = {entry.name: _filled(bench, entry, bench.sizes.history) for entry in entries}
    yield _memory(bench, entries, files, "everything", "peak memory of loading all")
    yield _memory(bench, entries, files, "stream", "peak memory of reading all as a stream")


def _timed(
    bench: Bench, entries: Sequence[Entry], name: str, what: str, work: Callable[[Bench, Entry], float]
) -> Row:  # fmt: skip
    measures = {entry.name: partial(work, bench, entry) for entry in entries}
    cells = interleave(measures, rounds=bench.sizes.few_runs, budget=BUDGET)
    notes = {entry.name: "writes the whole state" for entry in entries if entry.name == "langgraph"}
    return Row(name, what, "s", cells, notes)


def _threads(bench: Bench, entry: Entry) -> float:
    """Seconds a message, each thread in a conversation of its own."""
    number = bench.sizes.full_appends
    with ExitStack() as stack:
        store = entry.load()(bench.folder.new_file(), "full")
        stack.callback(store.close)
        stores = [store.beside(f"thread {thread}") for thread in range(THREADS)]
        for each in stores if not store.shares else ():
            stack.callback(each.close)
        items = [fresh(each, number) for each in stores]
        with ThreadPoolExecutor(THREADS) as pool:
            begin = time.perf_counter()
            answers = [pool.submit(_append_all, each, some) for each, some in zip(stores, items, strict=True)]
            try:
                for answer in answers:
                    answer.result()
            except Exception as error:
                raise Unable(f"fails: {type(error).__name__}") from error
            return (time.perf_counter() - begin) / (number * THREADS)


def _append_all(store: Store, items: Sequence[object]) -> None:
    for item in items:
        store.append(item)


def _processes(bench: Bench, entry: Entry) -> float:
    """Seconds a message, each process in a conversation of its own."""
    number = bench.sizes.full_appends
    path = bench.folder.new_file()
    entry.load()(path, "full").close()
    with ExitStack() as stack:
        children = []
        for each in range(PROCESSES):
            arguments = (*_CHILD, "append", entry.adapter, str(path), f"process {each}", str(number))
            children.append(stack.enter_context(python(bench.folder.path, arguments)))
        for child in children:
            assert child.stdout is not None
            if child.stdout.readline() != "ready\n":
                raise Unable("fails to open the file beside others")
        begin = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        said = [child.stdout.readline().strip() for child in children if child.stdout is not None]
        taken = time.perf_counter() - begin
    failed = [answer for answer in said if answer != "done"]
    if failed:
        raise Unable(f"fails: {failed[0]}")
    return taken / (number * PROCESSES)


def _filled(bench: Bench, entry: Entry, number: int) -> Path:
    path = bench.folder.new_file()
    store = entry.load()(path, "full")
    store.fill(conversation(number))
    store.close()
    return path


def _disk(bench: Bench, entries: Sequence[Entry]) -> Row:
    """Bytes of the closed file, a message: appended one by one."""
    number = bench.sizes.short
    cells: dict[str, Cell] = {}
    for entry in entries:
        adapter = entry.load()
        path = bench.folder.new_file()
        store = adapter(path, "full" if "normal" in adapter.cannot else "normal")
        _append_all(store, [store.prepare(message) for message in conversation(number)])
        store.close()
        size = sum(file.stat().st_size for file in path.parent.glob(f"{path.name}*"))
        cells[entry.name] = Cell(size / number)
    notes = {entry.name: entry.load().notes.get("disk", "") for entry in entries}
    what = f"bytes on disk a message, {number:,} appended one by one"
    return Row("disk", what, "B", _against_ours(cells), {name: note for name, note in notes.items() if note})


def _against_ours(cells: dict[str, Cell]) -> dict[str, Cell]:
    ours = cells[OURS].value
    assert ours is not None
    return {
        name: cell if cell.value is None else Cell(cell.value, cell.value / max(ours, 1))
        for name, cell in cells.items()
    }


def _start(bench: Bench, entries: Sequence[Entry], files: dict[str, Path]) -> Row:
    """From the start of a process to the newest messages, everything imported."""

    def measure(entry: Entry) -> float:
        return seconds_to_line(bench.folder.path, (*_CHILD, "start", entry.adapter, str(files[entry.name])))

    for entry in entries:
        measure(entry)  # modules are compiled
    measures = {entry.name: partial(measure, entry) for entry in entries}
    cells = interleave(measures, rounds=bench.sizes.runs, budget=BUDGET)
    what = f"process start to the newest 50 of {bench.sizes.short:,} read"
    notes = {entry.name: "reads all" for entry in entries if "newest" in entry.load().cannot}
    return Row("start", what, "s", cells, notes)


def _memory(bench: Bench, entries: Sequence[Entry], files: dict[str, Path], way: str, what: str) -> Row:
    cells: dict[str, Cell] = {}
    for entry in entries:
        cannot = entry.load().cannot
        if way in cannot:
            cells[entry.name] = Cell(reason=cannot[way])
            continue
        arguments = (*_CHILD, "memory", entry.adapter, str(files[entry.name]), way)
        with python(bench.folder.path, arguments) as child:
            assert child.stdout is not None
            cells[entry.name] = Cell(float(child.stdout.readline()))
    name = "memory" if way == "everything" else way
    return Row(name, f"{what} {bench.sizes.history:,}", "B", _against_ours(cells))
