"""The stores that take part in a comparison, opened and filled with the same conversation."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import count

import attrs

from tests.benchmarks.bench import Bench
from tests.benchmarks.material import messages
from tests.benchmarks.peers.compare import Cell
from tests.benchmarks.peers.contract import Durability, Message, Store
from tests.benchmarks.peers.roster import Entry

NEEDLE = "haystack"  # a word that one message in a thousand has, one of a user's
EVERY = 1_000


def conversation(number: int) -> Sequence[Message]:
    """The messages that each store is filled with."""
    made = messages(number)
    for message in made[8::EVERY]:
        part = message["parts"][0]
        part["text"] = f"{NEEDLE} {part['text'][len(NEEDLE) + 1 :]}"
    return made


@attrs.define
class Field:
    """Open stores by their short names, each with its own messages to come."""

    stores: dict[str, Store]
    number: int  # of messages in each

    def able(self, work: str) -> dict[str, Store]:
        """Those that can do it."""
        return {name: store for name, store in self.stores.items() if work not in store.cannot}

    def unable(self, work: str) -> dict[str, Cell]:
        """The others, with their reasons."""
        return {
            name: Cell(reason=store.cannot[work]) for name, store in self.stores.items() if work in store.cannot
        }  # fmt: skip

    def notes(self, work: str) -> dict[str, str]:
        """What to know of each one's way to do it."""
        return {name: store.notes[work] for name, store in self.able(work).items() if work in store.notes}


_seeds = count(1_000)


def fresh(store: Store, number: int) -> list[object]:
    """New messages, as the store's callers have them."""
    return [store.prepare(message) for message in messages(number, seed=next(_seeds))]


@contextmanager
def filled(
    bench: Bench, entries: Sequence[Entry], number: int, durability: Durability | None = "full"
) -> Iterator[Field]:  # fmt: skip
    """Every store with a conversation of so many messages. One that can't be set to `durability` is there, unfilled."""
    given = conversation(number)
    with ExitStack() as stack:
        stores: dict[str, Store] = {}
        for entry in entries:
            store = entry.load()(bench.folder.new_file(), durability)
            stack.callback(store.close)
            if not (durability == "normal" and "normal" in store.cannot):
                print(f"  {entry.name}: {number:,} messages", file=sys.stderr)
                store.fill(given)
            stores[entry.name] = store
        gc.collect()
        yield Field(stores, number)
