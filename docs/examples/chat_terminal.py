"""A chat in the terminal (Textual): a list that follows the file, whoever writes to it, and a line to write in.

    python -m docs.examples.chat_terminal chat.db SESSION

The screen has a store of its own, for reading, and polls it from a timer; so its list changes in its own thread only.
What is sent goes through another store, in a thread, since a write may have to wait for its turn.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any, TypeAlias
from uuid import uuid4

import attrs
from textual import work
from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Footer, Input, Static

from eventstore import EventStoreError, Message, Sessions
from projections import Change, follow

POLL_SECONDS = 0.05
_UNDRAWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")  # a terminal would obey it, or can't encode it


@attrs.frozen
class Row:
    """What is shown of a message."""

    id: str
    role: str
    text: str
    writing: bool


def text_of(part: dict[str, Any]) -> str:
    text = part.get("text")
    return text if isinstance(text, str) else f"[{part['type']}]"


def drawable(text: str) -> str:
    return _UNDRAWABLE.sub("\ufffd", text)


def row_of(message: Message) -> Row:
    text = "".join(map(text_of, message["parts"]))
    writing = any(part.get("state") == "streaming" for part in message["parts"])
    return Row(message["id"], message["role"], drawable(text), writing)


class RowView(Static):
    """One row on the screen. It stays the same widget while its message is shown, however that changes."""

    def __init__(self, row: Row) -> None:
        super().__init__(markup=False, classes=row.role if row.role in ("user", "assistant") else "other")
        self.show(row)

    def show(self, row: Row) -> None:
        self.row = row
        self.update(row.text + ("▍" if row.writing else ""))


Place: TypeAlias = tuple[RowView, int]
"""A row, and how many lines below the upper edge of the window it begins."""


class Conversation(VerticalScroll):
    """The rows. At the end it stays at the end; elsewhere the row that is being read stays where it is.

    `held` is where the reader is. Whoever scrolls changes it; when the rows are laid out anew, it is returned to.
    """

    def __init__(self) -> None:
        super().__init__()
        self.views: list[RowView] = []
        self.held: Place | None = None

    def on_mount(self) -> None:
        self.watch(self, "scroll_y", self.hold, init=False)
        self.watch(self, "virtual_size", self.return_to_place, init=False)

    def splice(self, change: Change[Row]) -> None:
        """Makes the views those of the changed list. A row that changes where it stands keeps its view."""
        end = change.start + len(change.removed)
        views = self.views[change.start : end]
        if [row.id for row in change.removed] == [row.id for row in change.added]:
            for view, row in zip(views, change.added, strict=True):
                view.show(row)
        else:
            new = [RowView(row) for row in change.added]
            self.remove_children(views)
            self.mount_all(new, before=self.views[end] if end < len(self.views) else None)
            self.views[change.start : end] = new
            if self.held is not None and self.held[0] in views:
                self.hold()
        self.call_after_refresh(self.return_to_place)

    def hold(self) -> None:
        """Holds the first row in sight; nothing at the end of the conversation."""
        top = self.scroll_offset.y
        seen = (view for view in self.views if view.is_attached and view.virtual_region.bottom > top)
        first = None if self.is_vertical_scroll_end else next(seen, None)
        self.held = None if first is None else (first, first.virtual_region.y - top)

    def return_to_place(self) -> None:
        if self.held is None:
            self.scroll_end(animate=False, immediate=True)
        else:
            view, below = self.held
            self.scroll_to(y=view.virtual_region.y - below, animate=False, immediate=True)


class Chat(App[None]):
    """The application, on one conversation of one file."""

    CSS = """
    Conversation { padding: 1 2; }
    RowView { width: auto; max-width: 90%; margin-bottom: 1; }
    RowView.user { background: $primary-muted; padding: 0 1; }
    RowView.other { color: $text-muted; }
    """
    BINDINGS = [("escape", "quit", "Quit")]  # noqa: RUF012 - Textual's own way

    def __init__(self, path: Path, session_id: str) -> None:
        super().__init__()
        self.writer = Sessions(path)  # opened first: it makes the file
        self.reader = Sessions(path, read_only=True)
        self.sent_to = self.writer.session(session_id)
        self.shown = self.reader.session(session_id)
        self.title = session_id
        self.conversation = Conversation()

    def compose(self) -> ComposeResult:
        yield self.conversation
        yield Input(placeholder="Write a message")
        yield Footer()

    def on_mount(self) -> None:
        self.query_one(Input).focus()
        rows: list[Row] = []
        follow(self.shown, rows, transform=row_of, compacted=False, on_change=self.conversation.splice)
        self.set_interval(POLL_SECONDS, self.reader.poll)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            event.input.clear()
            self.conversation.scroll_end(animate=False)
            self.send(event.value)

    @work(thread=True)
    def send(self, text: str) -> None:
        message = {"id": str(uuid4()), "role": "user", "parts": [{"type": "text", "text": text}]}
        try:
            self.sent_to.append_message(message)
        except EventStoreError as error:
            self.call_from_thread(self.not_sent, text, error)

    def not_sent(self, text: str, error: EventStoreError) -> None:
        self.query_one(Input).value = text
        self.notify(str(error), title="Not sent", severity="error")

    def on_unmount(self) -> None:
        self.reader.close()
        self.writer.close()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python -m docs.examples.chat_terminal chat.db SESSION  (any name; a new one begins a chat)")
    try:
        chat = Chat(Path(sys.argv[1]), sys.argv[2])
    except EventStoreError as error:
        sys.exit("chat_terminal: " + drawable(" ".join(str(error).split())))
    chat.run()
