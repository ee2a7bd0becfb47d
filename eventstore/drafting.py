"""What a message must pass before it is stored: prepared, checked, encoded, stamped. Outside every lock,
but for a client's update, which goes on from what is stored."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from operator import itemgetter
from typing import Any, NamedTuple

from eventstore import codec, driver, media
from eventstore.codec import Encoded, Together
from eventstore.errors import InvalidArgument, InvalidMessage
from eventstore.media import Taken
from eventstore.tokens import estimate_tokens
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


class Drafts(Sequence[Draft]):
    """Drafts by columns: what is made for each of thousands is what they cost, so no draft is until it is asked for."""

    __slots__ = ("flags", "ids", "media", "roles", "sizes", "texts", "times", "tokens", "values")

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.roles: list[str] = []
        self.texts: list[str] = []
        self.values: list[Any] = []
        self.sizes: list[int] = []
        self.flags: list[int] = []
        self.media: list[tuple[Taken, ...]] = []
        self.tokens: list[int] = []
        self.times: list[int | None] = []

    @classmethod
    def of(cls, drafts: Sequence[Draft]) -> Drafts:
        """Drafts, by columns."""
        if isinstance(drafts, Drafts):
            return drafts
        made = cls()
        for draft in drafts:
            made.add(draft)
        return made

    def __len__(self) -> int:
        return len(self.ids)

    def __iter__(self) -> Iterator[Draft]:
        encoded = map(Encoded, self.texts, self.values, self.sizes, self.flags, self.media)
        return map(Draft, self.ids, self.roles, encoded, self.tokens, self.times)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            some = Drafts()
            for name in self.__slots__:
                setattr(some, name, getattr(self, name)[at])
            return some
        encoded = Encoded(self.texts[at], self.values[at], self.sizes[at], self.flags[at], self.media[at])
        return Draft(self.ids[at], self.roles[at], encoded, self.tokens[at], self.times[at])

    def extend(self, more: Drafts) -> None:
        """Adds others."""
        for name in self.__slots__:
            getattr(self, name).extend(getattr(more, name))

    def add(self, draft: Draft) -> None:
        """Adds one."""
        id, role, (text, value, size, flags, media), tokens, created_at = draft
        self.ids.append(id)
        self.roles.append(role)
        self.texts.append(text)
        self.values.append(value)
        self.sizes.append(size)
        self.flags.append(flags)
        self.media.append(media)
        self.tokens.append(tokens)
        self.times.append(created_at)

    def add_plain(self, together: Together, tokens: Callable[[Message], int]) -> None:
        """Adds messages without media, stamped by `tokens`."""
        texts, values, sizes = together
        number = len(values)
        self.ids += map(itemgetter("id"), values)
        self.roles += map(itemgetter("role"), values)
        self.texts += texts
        self.values += values
        self.sizes += sizes
        self.flags += repeat(0, number)
        self.media += repeat((), number)
        self.tokens += [tokens(value) for value in values]  # in a `map`, a StopIteration of theirs ends it
        self.times += repeat(None, number)


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
        self._is_counted = count_tokens is not estimate_tokens
        self.stamp = self._counted if self._is_counted else estimate_tokens
        """The tokens that a message is stamped with."""
        self._prepare = prepare

    def new_draft(self, message: MessageLike, source: Source) -> Draft:
        """A message that is to be added: prepared, and without the reserved keys where it comes from a client."""
        if source == "server" and self._prepare is None:
            return self.draft(message)
        given = self.prepared(message)
        return self.draft(self.with_reserved(given, None) if self.has_reserved(source) else given)

    def new_drafts(self, messages: Iterable[MessageLike], source: Source) -> Drafts:
        """`new_draft` of each."""
        drafts = Drafts()
        as_they_are = self._prepare is None and not self.has_reserved(source)
        if as_they_are and (type(messages) is list or type(messages) is tuple):
            for start in range(0, len(messages), TOGETHER):
                self._draft_together(messages[start : start + TOGETHER], drafts)
        else:  # a generator may give one dict again and again, with other things in it
            for message in messages:
                drafts.add(self.new_draft(message, source))
        return drafts

    def _draft_together(self, messages: Sequence[MessageLike], drafts: Drafts) -> None:
        are_plain = codec.are_plain_texts(messages)
        exact = are_plain and set(map(len, messages)) == {3}  # nothing but an id, a role and parts
        # A caller's function may change a message between its encoding and its check.
        may_be_changed = self._is_counted and not are_plain
        together = None if may_be_changed else codec.encode_together(messages, exact=exact)
        if together is None:
            for message in messages:
                drafts.add(self.draft(message))
        elif are_plain:
            drafts.add_plain(together, self.stamp)
        else:
            for message, encoded in zip(messages, together.each(), strict=True):
                if codec.is_plain_text(message):
                    drafts.add(self._stamped(encoded))
                else:
                    codec.check_message(message)
                    drafts.add(self._stamped(codec.without_media(encoded)))

    def prepared(self, message: MessageLike) -> MessageLike:
        """What `prepare` makes of a message."""
        if self._prepare is None:
            return message
        if not isinstance(message, Mapping):
            raise InvalidMessage(
                f"a message must be a mapping with 'id', 'role' and 'parts', not {type(message).__name__}"
            )
        given: Any = codec.encode(dict(message)).value  # the hook may change it, and it is the caller's
        made = self._prepare(given)
        if not isinstance(made, Mapping):
            raise InvalidMessage(f"prepare must return the message to store, not {type(made).__name__}")
        return made

    def draft(self, message: MessageLike, created_at: int | None = None) -> Draft:
        """A message checked, encoded and stamped. Raises `InvalidMessage` and `NotSerializable`."""
        if codec.is_plain_text(message):
            return self._stamped(codec.encode(message), created_at)
        codec.check_message(message)
        return self._stamped(codec.encode_message(message), created_at)

    def _stamped(self, encoded: Encoded, created_at: int | None = None) -> Draft:
        value = encoded.value
        return tuple.__new__(Draft, (value["id"], value["role"], encoded, self.stamp(value), created_at))

    def _counted(self, message: Message) -> int:
        """The tokens by a caller's function."""
        try:
            tokens = self._count_tokens(media.copied(message))  # it may change or keep it
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
