"""Messages, trees and infos as lines of text for a person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from rich.text import Text

from eventstore import Message, MessageInfo, strict
from eventstore.cli.drawing import Row
from eventstore.cli.screen import Screen

PREVIEW = 100  # characters of a preview where the width doesn't say
SHORT = 400  # characters of a tool's input or output
INDENT = "  "
STYLES = {"user": "cyan", "assistant": "green", "system": "magenta", "tool": "yellow"}


def size(count: int) -> str:
    """A number of bytes."""
    if count < 1000:
        return f"{count} B"
    scaled, unit = count / 1000, "kB"
    for following in ("MB", "GB", "TB"):
        if scaled >= 999.95:
            scaled, unit = scaled / 1000, following
    return f"{scaled:.1f} {unit}"


def count(number: int, what: str, plural: str | None = None) -> str:
    """`3 messages`."""
    return f"{number:,} {what if number == 1 else plural or what + 's'}"


def moment(when: datetime) -> str:
    """A time, to the second."""
    return f"{when:%Y-%m-%d %H:%M:%S} UTC"


# ---- parts of messages


def preview(message: Message | None) -> str:
    """What a message says, in short: its first text, or else what its first part is."""
    if message is None:
        return "(deleted meanwhile)"
    first = ""
    for part in message["parts"]:
        text = part.get("text")
        if part["type"] == "text" and isinstance(text, str) and text.strip():
            return text[: 4 * PREVIEW]
        first = first or _title(part)
    return first or "(empty)"


def _title(part: Mapping[str, Any]) -> str:
    kind: str = part["type"]
    if kind in ("step-start", "text"):
        return ""
    if kind == "dynamic-tool":
        return f"(tool {part.get('toolName', '?')})"
    return f"(tool {kind[5:]})" if kind.startswith("tool-") else f"({kind})"


def short(value: Any, limit: int = SHORT) -> str:
    text = value if isinstance(value, str) else strict.encode(value)
    more = len(text) - limit
    return text if more <= 0 else f"{text[:limit]} ... ({more:,} more characters)"


def _told(output: Any) -> Any:
    """A tool's output; one that is blocks of text and nothing else is their text."""
    blocks = output if isinstance(output, list) else []
    texts: list[Any] = [
        block.get("text") for block in blocks if isinstance(block, dict) and block.get("type") == "text"
    ]
    plain = texts and len(texts) == len(blocks) and all(isinstance(text, str) for text in texts)
    return "\n".join(texts) if plain else output


def part_lines(screen: Screen, part: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """(style, text of one or more lines) of each piece of a part."""
    kind: str = part["type"]
    if kind in ("text", "reasoning"):
        text = part.get("text")
        said = text if isinstance(text, str) else short(text)
        if said and kind == "text":
            yield "", said
        elif said:
            yield "dim italic", f"(reasoning) {said}"
    elif kind == "dynamic-tool" or kind.startswith("tool-"):
        yield "yellow", f"{screen.pick('⚙', '*')} {_title(part)[1:-1]} {short(part.get('input'))}"
        for key, style in (("output", "yellow"), ("errorText", "red")):
            if key in part:
                yield style, f"{screen.pick('→', '->')} {short(_told(part[key]))}"
    elif kind == "erased":
        yield "dim", "(erased: its content was not retained)"
    elif kind != "step-start":
        rest = {key: value for key, value in part.items() if key != "type"}
        yield "dim", f"({kind}) {short(rest)}"


# ---- a message in full


def message_text(screen: Screen, message: Message, info: MessageInfo | None, note: str = "") -> Text:
    """A message in full, under a line that says who, which and when."""
    role = screen.name(message["role"])
    text = Text()
    text.append(role, style=f"bold {STYLES.get(role, 'blue')}")
    about = [screen.name(message["id"])]
    if info is not None:
        about.append(moment(info.created_at))
        if info.updated_at != info.created_at:
            about.append(f"updated {moment(info.updated_at)}")
    text.append("  " + "  ".join(filter(None, (*about, note))) + "\n", style="dim")
    for part in message["parts"]:
        for style, content in part_lines(screen, part):
            for line in screen.visible(content).expandtabs(4).split("\n"):
                text.append_text(indented(screen, Text(line, style=style)))
    return text


def indented(screen: Screen, text: Text) -> Text:
    """A line, wrapped to the width, each piece indented and with its line's end."""
    pieces = [text] if screen.width is None else text.wrap(screen.console, max(screen.width - len(INDENT), 10))
    found = Text()
    for piece in pieces or [text]:
        piece.rstrip()
        found.append(INDENT if piece.plain else "")
        found.append_text(piece)
        found.append("\n")
    return found


# ---- a row of a tree


def row_text(screen: Screen, row: Row, message: Message | None, id_length: int) -> Text:
    """A row of a drawn tree: its lines, its mark, id and role, and what it says in short."""
    pass_by, fork = screen.pick("│ ", "| "), screen.pick("├─", "|-")
    text = Text()
    text.append(pass_by * (row.depth - row.forks) + (fork if row.forks else ""), style="dim")
    mark = screen.pick("●", "*") if row.on_path else screen.pick("○", "o")
    text.append(mark + " ", style="bold" if row.on_path else "dim")
    text.append(screen.name(row.info.id[:id_length]) + " ", style="dim")
    role = screen.name(row.info.role)
    text.append(role, style=STYLES.get(role, "blue"))
    if row.is_leaf:
        text.append(" " + screen.pick("← active leaf", "<- active leaf"), style="bold")
    if row.sibling is not None:
        text.append(" " + screen.pick("‹{}/{}›", "<{}/{}>").format(*row.sibling), style="dim")
    text.append("  " + cut(screen, preview(message)), style="" if row.on_path else "dim")
    return text


def cut(screen: Screen, text: str) -> str:
    """`text` on one line, cut where the width of the screen doesn't cut it."""
    line = screen.one_line(text)
    if len(line) <= PREVIEW or screen.width is not None:
        return line
    return line[: PREVIEW - 1] + screen.pick("…", "...")
