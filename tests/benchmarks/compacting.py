"""What summaries cost: the question whether one is due, and reads of paths that show many."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from eventstore import Session, create_compact_function
from tests.benchmarks.bench import Bench
from tests.benchmarks.growth import RECENT_BYTES
from tests.benchmarks.material import messages, opened
from tests.benchmarks.measure import Line, interleave, seconds, seconds_each

MESSAGES_PER_OVERLAY = 100  # 1,000 overlays in 100,000 messages
COVERED = 50  # of each hundred
NEVER = 10**12  # tokens


def add_overlays(session: Session) -> int:
    """Covers a half of every hundred messages, and says how many entries are then shown."""
    infos = session.get_history_row_stats()
    shown = len(infos)
    for start in range(0, len(infos) - MESSAGES_PER_OVERLAY, MESSAGES_PER_OVERLAY):
        session.add_compaction("what they said there", infos[start + 10].id, infos[start + 9 + COVERED].id)
        shown -= COVERED - 1
    return shown


def threshold_check(bench: Bench) -> list[Line]:
    """An append to a session whose estimate is held against a threshold, in a long and in a short conversation."""
    sizes = bench.sizes
    with opened(bench.conversations.store(sizes.long)) as many, opened(bench.conversations.store(sizes.short)) as few:
        sides = [many.session(), few.session()]
        for session in sides:
            session.on_compaction(create_compact_function(lambda prompt: prompt)).compact_after(NEVER)
            session.append_message(messages(1, seed=7)[0])
        seeds = iter(range(100, 10_000))

        def appends(session: Session) -> Iterator[Callable[[], object]]:
            for message in messages(sizes.calls, seed=next(seeds)):
                yield partial(session.append_message, message)

        return [
            interleave(
                f"append_message with compact_after, at {sizes.long:,} messages",
                f"at {sizes.short:,}",
                lambda: seconds_each(appends(sides[0])),
                lambda: seconds_each(appends(sides[1])),
                runs=sizes.runs,
                target=1.2,
            )
        ]


def overlay_reads(bench: Bench) -> list[Line]:
    """A whole path with a thousand summaries on it, and the newest part of one."""
    sizes = bench.sizes
    with (
        opened(bench.conversations.store(sizes.history)) as compacted,
        opened(bench.conversations.store(sizes.history)) as plain,
        opened(bench.conversations.store(sizes.short)) as short,
    ):
        session, raw, few = compacted.session(), plain.session(), short.session()
        shown, number = add_overlays(session), len(raw.get_history_row_stats())
        add_overlays(few)
        return [
            interleave(
                f"get_history of {number:,} under {len(session.get_compactions()):,} summaries, per entry shown",
                "without, per message",
                lambda: seconds(session.get_history) / shown,
                lambda: seconds(raw.get_history) / number,
                runs=sizes.runs,
                target=1.5,
            ),
            interleave(
                f"get_recent_history(64 KiB) under summaries, at {number:,} messages",
                f"at {sizes.short:,}",
                lambda: seconds_each([partial(session.get_recent_history, RECENT_BYTES)] * sizes.calls),
                lambda: seconds_each([partial(few.get_recent_history, RECENT_BYTES)] * sizes.calls),
                runs=sizes.runs,
                target=1.5,
            ),
        ]
