"""What it costs to hear of what is written: a poll, a followed list, another process's writes."""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path
from statistics import quantiles

import apsw

from eventstore import Message, Session, Sessions
from projections import Change, follow
from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages
from tests.benchmarks.measure import Line, interleave, seconds_each

ROOT = Path(__file__).parents[2]
POLLS = 200  # of one run
LATE = 0.1  # seconds after which a write in another process must be in a list, 99 times of 100
IDLE = 0.05  # of a core, that a watch may take


def poll(bench: Bench) -> list[Line]:
    """With nothing new, against one raw statement; on a store that writes and on one that reads."""
    path = bench.folder.new_file()
    with Sessions(path, durability="normal") as writer, Sessions(path, read_only=True) as reader:
        writer.session().append_messages(messages(bench.sizes.short))
        with closing(apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)) as raw:
            return [
                interleave(
                    f"{what}, nothing new",
                    "raw SELECT max(seq)",
                    partial(_each, store.poll),
                    partial(_each, lambda: raw.execute("SELECT max(seq) FROM event").fetchall()),
                    runs=bench.sizes.runs,
                    target=3,
                )
                for what, store in (("poll()", writer), ("poll() of a read-only store", reader))
            ]


def _each(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    for _ in range(POLLS):
        call()
    return (time.perf_counter() - begin) / POLLS


def follow_append(bench: Bench) -> list[Line]:
    """What an append costs with a list that follows, in a long conversation against a short one."""
    sizes = bench.sizes
    with Sessions() as store:
        long, short = (_followed(store, number) for number in (sizes.history, sizes.short_list))
        return [
            interleave(
                f"append with a followed list of {sizes.history:,}",
                f"list of {sizes.short_list:,}",
                lambda: long(sizes.calls),
                lambda: short(sizes.calls),
                runs=sizes.runs,
                target=1.5,
            )
        ]


def _followed(store: Sessions, number: int) -> Callable[[int], float]:
    session = store.session(str(number))
    session.append_messages(messages(number))
    follow(session, [])
    return partial(_appends, session, count(1))


def _appends(session: Session, seeds: Iterator[int], number: int) -> float:
    fresh = messages(number, seed=next(seeds))
    return seconds_each([partial(session.append_message, message) for message in fresh])


WRITER = """
import sys, time
from eventstore import Sessions
with Sessions(sys.argv[1], durability="normal") as store:
    begin = time.time()
    for number in range(int(sys.argv[2])):
        time.sleep(max(0.0, begin + number * 0.001 - time.time()))
        text = repr(time.time())
        store.session().append_message({"id": f"m{number}", "role": "user", "parts": [{"type": "text", "text": text}]})
"""


def follow_process(bench: Bench) -> list[Line]:
    """How late another process's thousand writes a second are in a list, and what a watch takes when nothing comes."""
    path = bench.folder.new_file()
    number = bench.sizes.normal_appends
    late: list[float] = []

    def sent(message: Message) -> float:
        return float(message["parts"][0]["text"])

    def note(change: Change[float]) -> None:
        late.extend(time.time() - when for when in change.added)

    Sessions(path).close()
    with Sessions(path, read_only=True) as reader:
        follow(
            reader.session(), [], transform=sent, on_change=lambda it: late.extend(time.time() - t for t in it.added)
        )
        with reader.watch():
            subprocess.run([sys.executable, "-c", WRITER, str(path), str(number)], cwd=ROOT, check=True)
            while len(late) < number:
                time.sleep(0.01)
            idle = _cpu(lambda: time.sleep(1.0 if number > 100 else 0.2))
    p99 = quantiles(late, n=100)[-1]
    return [
        Line("another process's write in a followed list, p99", "100 ms", p99, LATE, p99 / LATE, "s", 1),
        Line("an idle watch, of a core's second", "5 % of it", idle, IDLE, idle / IDLE, "s", 1),
    ]


def _cpu(wait: Callable[[], object]) -> float:
    """Seconds of processor time a second while something is waited for."""
    begin, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_SELF)
    wait()
    after = resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return used / (time.perf_counter() - begin)
