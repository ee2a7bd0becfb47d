"""`python -m tests.benchmarks.memory WAY PATH`: the peak of resident memory while a file is read, above the start.

With the way `import`, PATH are files of other systems that are imported into a store beside them.

A process of its own, and the kernel's own figure: it holds Python's objects, SQLite's cache and everything else.
(`ru_maxrss` would not do on Linux: a child begins with the peak of its parent.)
"""

from __future__ import annotations

import json
import resource
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from eventstore.exchange.files import import_file
from tests.benchmarks.material import opened, raw

_STATUS = Path("/proc/self/status")


def _peak_and_now() -> tuple[int, int]:
    """Bytes of resident memory: the most so far, and now."""
    if not _STATUS.exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
        return peak, peak
    fields = dict(line.split(":", 1) for line in _STATUS.read_text().splitlines())
    return int(fields["VmHWM"].split()[0]) * 1024, int(fields["VmRSS"].split()[0]) * 1024


def peak_of(read: Callable[[], Iterable[object]]) -> int:
    """Bytes by which reading all of it, and keeping nothing, goes above the start: a page at least, since the kernel
    sees no less."""
    _, start = _peak_and_now()
    for _ in read():
        pass
    peak, _ = _peak_and_now()
    return max(peak - start, resource.getpagesize())


def main(way: str, path: Path) -> int:
    if way == "import":
        with opened(path.with_suffix(".store")) as sessions:
            return peak_of(lambda: import_file(sessions, path))
    if way == "raw":
        with raw(path) as connection:
            texts = connection.execute("SELECT text FROM body ORDER BY seq")
            return peak_of(lambda: (json.loads(text) for (text,) in texts))
    with opened(path) as sessions:
        session = sessions.session()
        return peak_of(lambda: session.history(newest_first="newest_first" in way))


if __name__ == "__main__":
    print(main(sys.argv[1], Path(sys.argv[2])))
