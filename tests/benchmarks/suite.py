"""Which benchmarks there are, by group and name, and how they are run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.benchmarks.appending import append_batch, append_full, append_normal, append_spread, import_batch
from tests.benchmarks.attachments import append_image, base64_speed, read_images
from tests.benchmarks.bench import Bench, Benchmark
from tests.benchmarks.caring import backup, rebuild, scavenge, verify
from tests.benchmarks.compacting import overlay_reads, threshold_check
from tests.benchmarks.following import follow_append, follow_process, poll
from tests.benchmarks.growing import grow_reply
from tests.benchmarks.growth import long_append, long_reads, long_tree
from tests.benchmarks.importing import import_export, import_formats, import_memory
from tests.benchmarks.looping import async_append
from tests.benchmarks.measure import Line, Sizes
from tests.benchmarks.mirroring import mirror_events
from tests.benchmarks.reading import get_history, history_memory, newest
from tests.benchmarks.searching import search_append, search_first, search_share, search_word
from tests.benchmarks.starting import import_and_open
from tests.benchmarks.whole import disk, first_read, list_sessions, whole_store

BENCHMARKS: dict[str, Benchmark] = {
    benchmark.__name__: benchmark
    for benchmark in (
        append_full,
        append_normal,
        grow_reply,
        append_batch,
        get_history,
        newest,
        disk,
        import_and_open,
        long_reads,
        long_append,
        history_memory,
        append_image,
        read_images,
        mirror_events,
        search_first,
        search_share,
        search_append,
        search_word,
        poll,
        follow_append,
        follow_process,
        async_append,
        threshold_check,
        overlay_reads,
        import_export,
        long_tree,
        verify,
        rebuild,
        import_batch,
        append_spread,
        list_sessions,
        whole_store,
        scavenge,
        backup,
        first_read,
        base64_speed,
    )
}
"""In the order of the table: first what has a target."""

ON_REQUEST: dict[str, Benchmark] = {benchmark.__name__: benchmark for benchmark in (import_formats, import_memory)}
"""What takes minutes, and is measured only where its whole name is given."""


def choose(wanted: Iterable[str]) -> list[str]:
    """The names that begin with one of those wanted; all when none is, but what is measured on request.

    Raises `LookupError` for one that fits none.
    """
    wanted = list(wanted)
    for word in wanted:
        if word not in ON_REQUEST and not any(name.startswith(word) for name in BENCHMARKS):
            raise LookupError(f"no benchmark begins with {word!r}; there are {', '.join((*BENCHMARKS, *ON_REQUEST))}")
    begun = [name for name in BENCHMARKS if not wanted or name.startswith(tuple(wanted))]
    return begun + [name for name in ON_REQUEST if name in wanted]


def run(names: Iterable[str], sizes: Sizes, folder: Path) -> Iterator[tuple[str, Line]]:
    """Each line with the name of its benchmark, as soon as it is measured. All files lie below `folder`."""
    with TemporaryDirectory(prefix="benchmarks-", dir=folder) as path:
        bench = Bench(sizes, Path(path))
        for name in names:
            for line in (BENCHMARKS | ON_REQUEST)[name](bench):
                yield name, line
