"""Messages and what they say of their parents, made into the rows of a conversation.

`plant` mends the parents, puts every message behind its parent, hangs the children of what is left out on the nearest
kept ancestor, and gives a time to what has none: that of its nearest ancestor that has one. The rows are made when they
are asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, TypeAlias

import attrs

from eventstore.exchange.conversation import (
    MadeRows,
    Skipped,
    mend_parents,
    nearest,
    order_parents_first,
    rehang,
    standing_for,
)
from eventstore.reports import ImportRow

Make: TypeAlias = Callable[[str], dict[str, Any]]
"""The message of a node, as a store takes it."""


@attrs.frozen
class Forest:
    """Nodes with their parents, mended, parents first."""

    order: list[str]
    parents: dict[str, str | None]
    skipped: list[Skipped]
    elsewhere: dict[str, str]  # roots whose parent isn't there -> that parent

    @classmethod
    def of(cls, given: Mapping[str, str | None], children: Mapping[str, Iterable[str]] | None = None) -> Forest:
        """The forest of nodes → parents, in the file's order; `children` as `mend_parents` takes them."""
        listed = children or {}
        mended, skipped = mend_parents(given, listed)
        lost = {node: parent for node, parent in given.items() if parent is not None and parent not in given}
        elsewhere = {node: parent for node, parent in lost.items() if mended[node] is None}
        return cls(order_parents_first(mended, listed), mended, skipped, elsewhere)

    def standing(self, kept: Iterable[str]) -> dict[str, str]:
        """For each node itself if it is kept, or its nearest kept ancestor."""
        return standing_for(self.order, self.parents, kept)

    def missing(self, hung: Mapping[str, str | None]) -> dict[str, str]:
        """Kept roots whose parent isn't there, though they or what they hung on named one: root -> that parent."""
        above = nearest(self.order, self.parents, self.elsewhere)
        return {node: above[node] for node, parent in hung.items() if parent is None and node in above}

    def roots(self, hung: Mapping[str, str | None]) -> dict[str, str]:
        """For each kept node the kept root that it descends from."""
        roots: dict[str, str] = {}
        for node, parent in hung.items():
            roots[node] = node if parent is None else roots[parent]
        return roots

    def plant(
        self, standing: Mapping[str, str], times: Mapping[str, datetime], otherwise: datetime, make: Make
    ) -> tuple[MadeRows, dict[str, str | None]]:
        """The rows of the kept nodes, which are `standing`, and the parent of each among them."""
        hung = rehang(self.parents, standing)
        known = nearest(self.order, self.parents, times)

        def row(node: str) -> ImportRow:
            return ImportRow(make(node), parent_id=hung[node], created_at=known.get(node, otherwise))

        return MadeRows(list(hung), row), hung
