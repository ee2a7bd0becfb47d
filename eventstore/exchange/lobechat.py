"""LobeChat's message rows: a flat list in which each message names its parent.

The lists lie in a file in the ways that `lists` tells. **A row becomes one message**, its id its own; it hangs on the
one that `parentId` names, a row without that field on the one before it. A row that names none is a root.

| in the file | in the store |
| --- | --- |
| `content` | a text; where it is no text, `data-lobechat-content` |
| `reasoning` | a `reasoning` part before it |
| `tools` of an assistant | calls: `tool-<identifier>.<apiName>`, their arguments as the JSON that they spell |
| a row of the role `tool` | the result of the call with its `tool_call_id`, or its error |
| `imageList`, `fileList` | files with an address as `file`, others as `data-lobechat-file` |

A message's metadata are its `model`, and under `lobechat` what else its row says, but nulls and empty values. Its time
is `createdAt`. The branch that is shown is told by the way: a message's `metadata.activeBranchIndex` is the number of
the child that goes on, else it is the last child. A list is named by the id beside it, or else by its first message:
see `naming`.

Left out and named: messages that say nothing, and what is no message.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from eventstore.exchange.assembling import EMPTY, PREVIOUS, Assembly, Told
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.finding import Lists
from eventstore.exchange.lists import Listed, first_messages
from eventstore.exchange.naming import Names
from eventstore.exchange.telling import Telling
from eventstore.exchange.times import any_time
from eventstore.exchange.tools import Call, Part, Result, Said, data_part, spelled
from eventstore.exchange.ui_parts import IMAGE, file_part, is_address, reasoning_parts, text_parts
from eventstore.exchange.values import list_of, object_of, without

FORMAT: Final = "lobechat"
_MARKS: Final = frozenset(("parentId", "meta", "tools", "tool_call_id", "threadId", "topicId", "groupId", "plugin"))
_FILES: Final = ("imageList", "fileList")
_EXPRESSED: Final = frozenset(("id", "role", "content", "parentId", "tools", "model", "reasoning", *_FILES))


def recognises(head: bytes) -> bool:
    """Whether a file that begins with `head` looks like these rows."""
    return any(map(_is_message, first_messages(head)[:10]))


def _is_message(value: Any) -> bool:
    """Whether a value is such a row. One that is cut off counts by its keys."""
    if not isinstance(value, dict) or not {"id", "role", "content", "createdAt"} <= value.keys():
        return False
    return "parts" not in value and not isinstance(value["createdAt"], str) and not _MARKS.isdisjoint(value)


def _is_told(value: Any) -> bool:
    """Whether a value among rows is one, sound or not."""
    return isinstance(value, dict) and "role" in value


def _conversation(listed: Listed, names: Names) -> Iterator[Conversation]:
    telling = Telling(names, listed.id(), held=listed.is_held)
    active: dict[str, int] = {}
    for number, found in enumerate(listed.messages, 1):
        if not _is_told(found):
            telling.skipped.append((f"message {number} of {listed.where}", "it is no message"))
            continue
        telling.tell([_told(found)])
        index = object_of(found.get("metadata")).get("activeBranchIndex")
        if isinstance(index, int) and isinstance(found.get("id"), str):
            active.setdefault(found["id"], index)
    yield telling.conversation(
        listed.metadata(FORMAT, telling.model),
        current=_shown(telling.assembly, active),
        skipped=listed.skipped,
        digest=listed.digest,
    )


def _shown(assembly: Assembly, active: dict[str, int]) -> Any:
    """The message that the shown branch ends at."""
    children = assembly.children()
    node: str | None = None
    for _ in assembly.told:  # a circle that isn't mended yet has an end, too
        below = children.get(node, [])
        if not below:
            break
        index = active.get(node, -1) if node is not None else -1
        node = below[index if 0 <= index < len(below) else -1]
    return PREVIOUS if node is None else node


def _told(found: dict[str, Any]) -> Told:
    role, when, model = found.get("role"), any_time(found.get("createdAt")), found.get("model")
    said: list[Said] = [_result(found)] if role == "tool" else _said(found)
    said += [_call(tool) for tool in list_of(found.get("tools"))]
    said += [_file(field, entry) for field in _FILES for entry in list_of(found.get(field))]
    about = without(found, _EXPRESSED if when is None else _EXPRESSED | {"createdAt"})
    if role == "tool":
        about = without(about, ("tool_call_id", _error_in(found)))
    metadata: dict[str, Any] = {"model": model} if isinstance(model, str) and model else {}
    return Told(
        found.get("id"),
        role,
        said,
        [role, found.get("content"), list_of(found.get("tools")), found.get("tool_call_id")],
        parent=found.get("parentId") or None if "parentId" in found else PREVIOUS,
        metadata={**metadata, FORMAT: about} if about else metadata,
        created_at=when,
        left_out=None if said else EMPTY,
    )


def _said(found: dict[str, Any]) -> list[Said]:
    content, thought = found.get("content"), found.get("reasoning")
    text = thought.get("content") if isinstance(thought, dict) else thought
    said: list[Said] = [*reasoning_parts(text)]
    if thought and not said:
        said.append(data_part(FORMAT, "reasoning", thought))
    if content is None or isinstance(content, str):
        return [*said, *text_parts(content)]
    return [*said, data_part(FORMAT, "content", content)]


def _call(tool: Any) -> Said:
    if not isinstance(tool, dict) or not isinstance(tool.get("apiName"), str):
        return data_part(FORMAT, "tool", tool)
    names = [tool[key] for key in ("identifier", "apiName") if isinstance(tool.get(key), str) and tool[key]]
    about = without(tool, ("id", "identifier", "apiName", "arguments"))
    more = {"callProviderMetadata": {FORMAT: about}} if about else {}
    return Call(tool.get("id"), ".".join(names), spelled(tool.get("arguments")), more, FORMAT)


def _result(found: dict[str, Any]) -> Result:
    failed, alone = _error_in(found), data_part(FORMAT, "tool", without(found))
    return Result(found.get("tool_call_id"), found.get(failed or "content"), alone, failed=failed != "")


def _error_in(found: dict[str, Any]) -> str:
    """The field that says that a tool failed, if one does."""
    return next((key for key in ("pluginError", "error") if found.get(key)), "")


def _file(field: str, entry: Any) -> Part:
    found = object_of(entry)
    if not is_address(found.get("url")):
        return data_part(FORMAT, "file", entry)
    name = found.get("name", found.get("alt"))
    other = {"otherwise": IMAGE} if field == "imageList" else {}
    return file_part(found["url"], found.get("fileType"), name, **other)


_LISTS: Final = Lists(FORMAT, "message of LobeChat", _is_told, _conversation)
find, read = _LISTS.find, _LISTS.read
