"""A list of messages, told one after the other while it is read, and what it becomes in the end: one conversation."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from eventstore.exchange.assembling import PREVIOUS, Assembly, Told
from eventstore.exchange.conversation import Conversation, Skipped
from eventstore.exchange.naming import Names
from eventstore.exchange.spool import Spool
from eventstore.exchange.values import object_of


class Telling:
    """A conversation on its way: its messages so far, and what was left out.

    `model` is the one that a message named last. `given` is the conversation's own id. `held` says that the list is in
    memory anyway; else what its messages say is put aside.
    """

    def __init__(self, names: Names, given: str | None = None, *, held: bool = True) -> None:
        self.assembly = Assembly(None if held else Spool())
        self.skipped: list[Skipped] = []
        self.model: str | None = None
        self._naming = names.begin(given)

    def tell(self, told: Iterable[Told]) -> None:
        """Takes the next messages."""
        for each in told:
            self._naming.hear(each)
            if isinstance(model := object_of(each.metadata).get("model"), str):
                self.model = model
            self.assembly.add(each)

    def conversation(
        self,
        metadata: dict[str, Any],
        given: str | None = None,
        *,
        current: Any = PREVIOUS,
        otherwise: datetime | None = None,
        skipped: Iterable[Skipped] = (),
        digest: str | None = None,
    ) -> Conversation:
        """The conversation, the arguments as in `assembling.assemble`. `given` is an id that the messages name."""
        return self.assembly.conversation(
            self._naming.name(given),
            metadata,
            current=current,
            otherwise=otherwise,
            skipped=[*skipped, *self.skipped],
            digest=digest,
        )
