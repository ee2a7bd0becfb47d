"""What a process pays before it has a store: the imports, and an open, against those of what the store stands on."""

from __future__ import annotations

from functools import partial

from tests.benchmarks.bench import Bench
from tests.benchmarks.fresh import seconds_to_line
from tests.benchmarks.measure import Line, interleave

_OURS = "import eventstore; eventstore.Sessions({path!r}); print(1, flush=True)"
_FLOOR = "import apsw, attrs, blinker; apsw.Connection({path!r}).pragma('user_version'); print(1, flush=True)"
_MORE = "import orjson; " + _FLOOR


def import_and_open(bench: Bench) -> list[Line]:
    """From the start of a fresh process to a file that is open."""
    path = str(bench.conversations.store(bench.sizes.short))

    def start(code: str) -> float:
        return seconds_to_line(bench.folder.path, ("-c", code.format(path=path)))

    for code in (_OURS, _FLOOR, _MORE):
        start(code)  # modules are compiled
    what = "import eventstore and open a file"
    ours = partial(start, _OURS)
    runs = bench.sizes.many_runs
    return [
        interleave(what, "import apsw, attrs, blinker and open", ours, partial(start, _FLOOR), runs=runs, target=1.5),
        interleave(what, "the same and orjson", ours, partial(start, _MORE), runs=runs),
    ]
