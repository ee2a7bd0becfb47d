"""What a message must pass before it is stored: prepared, checked, encoded, stamped. Outside every lock."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from eventstore import codec, driver
from eventstore.codec import Encoded
from eventstore.errors import InvalidArgument, InvalidMessage
from eventstore.types import Message, MessageLike, Source

TOGETHER = 100  # messages that are encoded at once
MOST_TOKENS = 2**40  # of a message: so the sums of any store fit 64 bits


class Draft(NamedTuple):
    """A message as it will be stored: checked, encoded and stamped."""

    id: str
    role: str
    encoded: Encoded
    tokens: int
    created_at: int | None = None  # a time that was given, in microseconds


class Drafting:
    """Makes drafts, by the hooks and the reserved keys of one store."""

    def __init__(
        self,
        *,
        reserved: Iterable[str],
        count_tokens: Callable[[Message], int],
        prepare: Callable[[Message], Message] | None,
    ) -> None:
        self._reserved = frozenset(reserved)
        self._count_tokens = count_tokens
        self._prepare = prepare

    def new_draft(self, message: MessageLike, source: Source) -> Draft:
        """A message that is to be added: prepared, and without the reserved keys where it comes from a client."""
        given = self.prepared(message)
        return self.draft(self.with_reserved(given, None) if self.has_reserved(source) else given)

    def new_drafts(self, messages: Iterable[MessageLike], source: Source) -> Iterator[Draft]:
        """`new_draft` of each."""
        as_they_are = self._prepare is None and not self.has_reserved(source)
        if as_they_are and (type(messages) is list or type(messages) is tuple):
            for start in range(0, len(messages), TOGETHER):
                yield from self._drafts(messages[start : start + TOGETHER])
        else:  # a generator may give one dict again and again, with other things in it
            for message in messages:
                yield self.new_draft(message, source)

    def _drafts(self, messages: Sequence[MessageLike]) -> Iterator[Draft]:
        together = codec.encode_together(messages)
        if together is None:
            yield from map(self.draft, messages)
            return
        for message, encoded in zip(messages, together, strict=True):
            if codec.is_plain_text(message):
                value = encoded.value
                yield tuple.__new__(Draft, (value["id"], value["role"], encoded, self.stamp(value), None))
            else:
                yield self.draft(message)

    def prepared(self, message: MessageLike) -> MessageLike:
        """What `prepare` makes of a message."""
        if self._prepare is None:
            return message
        if not isinstance(message, Mapping):
            raise InvalidMessage(f"a message must be a mapping, not {type(message).__name__}")
        given: Any = codec.encode(dict(message)).value  # the hook may change it, and it is the caller's
        made = self._prepare(given)
        if not isinstance(made, Mapping):
            raise InvalidMessage(f"prepare must return the message to store, not {type(made).__name__}")
        return made

    def draft(self, message: MessageLike, created_at: int | None = None) -> Draft:
        """A message checked, encoded and stamped. Raises `InvalidMessage` and `NotSerializable`."""
        codec.check_message(message)
        encoded = codec.encode_message(message)
        value = encoded.value
        return tuple.__new__(Draft, (value["id"], value["role"], encoded, self.stamp(value), created_at))

    def stamp(self, message: Message) -> int:
        """The tokens that a message is stamped with."""
        try:
            tokens = self._count_tokens(message)
        except Exception as error:  # noqa: BLE001
            raise driver.of_a_caller(error)  # noqa: B904
        if not isinstance(tokens, int) or not 0 <= tokens <= MOST_TOKENS:
            raise InvalidArgument(f"count_tokens must return an integer from 0 to {MOST_TOKENS}, not {tokens!r}")
        return int(tokens)

    def has_reserved(self, source: Source) -> bool:
        """Whether keys of the metadata are kept from this source. Raises `InvalidArgument` for another word."""
        if source not in ("server", "client"):
            raise InvalidArgument(f"source must be 'server' or 'client', not {source!r}")
        return source == "client" and bool(self._reserved)

    def with_reserved(self, message: MessageLike, stored: Message | None) -> MessageLike:
        """A client's message, with the reserved keys as they are stored."""
        codec.check_message(message)
        return codec.keep_reserved(message, self._reserved, stored)
