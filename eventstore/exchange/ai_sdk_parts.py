"""The parts of an AI SDK message. Those of version 5 and later are kept word for word; older shapes become such.

| in the file | part |
| --- | --- |
| a part of version 5 or later, of whatever type | the same, unchanged |
| `tool-invocation` (version 4), `tool-call` with a `toolName` (assistant-ui) | `tool-<name>` with its state |
| `reasoning` with its text under `reasoning` | `reasoning` with `text` |
| `source` | `source-url` |
| `file` with `data` and `mimeType`, `image` | `file` with `url` and `mediaType` |
| `content`, `reasoning`, `toolInvocations`, `experimental_attachments` beside no `parts` (version 4) | such parts |
| what is no object with a `type` | `data-ai-sdk-part` |

Other keys of a converted part stay beside the new ones.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from eventstore.exchange.tools import Part, call_part, data_part, error_part, result_part
from eventstore.exchange.ui_parts import IMAGE, data_url, file_part, reasoning_parts, text_parts
from eventstore.exchange.values import list_of

FORMAT = "ai-sdk"


def express(message: dict[str, Any]) -> list[Part]:
    """The parts of a message, whichever version of the SDK wrote it."""
    if isinstance(message.get("parts"), list):
        return [_part(part) for part in message["parts"]]
    content = message.get("content")
    if isinstance(content, list):
        said = [_part(part) for part in content]
    else:
        said = [*reasoning_parts(message.get("reasoning")), *text_parts(content)]
        if content is not None and not isinstance(content, str):
            said.append(data_part(FORMAT, "content", content))
    calls = [
        _part({"type": "tool-invocation", "toolInvocation": call}) for call in list_of(message.get("toolInvocations"))
    ]
    attached = message.get("experimental_attachments") or message.get("attachments")
    return [*said, *calls, *(_attachment(entry) for entry in list_of(attached))]


def unexpressed(message: dict[str, Any]) -> dict[str, Any]:
    """What version 4 says twice and says differently: its text, where the parts have another."""
    content = message.get("content")
    if not isinstance(message.get("parts"), list) or not isinstance(content, str):
        return {}
    texts = [part.get("text") for part in message["parts"] if isinstance(part, dict) and part.get("type") == "text"]
    return {} if content == "".join(text for text in texts if isinstance(text, str)) else {"content": content}


def _part(part: Any) -> Part:
    if not isinstance(part, dict) or not isinstance(part.get("type"), str):
        return data_part(FORMAT, "part", part)
    convert = _OLDER.get(part["type"])
    converted = None if convert is None else convert(part)
    return part if converted is None else converted


def _invocation(part: Part) -> Part | None:
    call = part.get("toolInvocation")
    if not isinstance(call, dict) or not _is_call(call):
        return None
    more = {key: value for key, value in part.items() if key not in ("type", "toolInvocation")}
    return {**_called(call), **more}


def _tool_call(part: Part) -> Part | None:
    if "state" in part or not _is_call(part):
        return None
    return _called({key: value for key, value in part.items() if key != "type"})


def _is_call(call: dict[str, Any]) -> bool:
    return isinstance(call.get("toolName"), str) and isinstance(call.get("toolCallId"), str)


def _called(call: dict[str, Any]) -> Part:
    used = {"toolCallId", "toolName", "args", "argsText", "result", "state", "isError", "step"}
    more: dict[str, Any] = {key: value for key, value in call.items() if key not in used}
    made = call_part(call["toolName"], call["toolCallId"], call.get("args", call.get("argsText")), **more)
    if call.get("isError") is True:
        return error_part(made, call.get("result"))
    if "result" in call:
        return result_part(made, call["result"])
    return {**made, "state": "input-streaming"} if call.get("state") == "partial-call" else made


def _reasoning(part: Part) -> Part | None:
    if "text" in part or not isinstance(part.get("reasoning"), str):
        return None
    return {**{key: value for key, value in part.items() if key != "reasoning"}, "text": part["reasoning"]}


def _source(part: Part) -> Part | None:
    source = part["source"] if isinstance(part.get("source"), dict) else part
    if source.get("sourceType") != "url" or not isinstance(source.get("url"), str):
        return None
    more = {key: value for key, value in source.items() if key not in ("type", "sourceType", "id")}
    return {"type": "source-url", "sourceId": source.get("id") or source["url"], **more}


def _file(part: Part) -> Part | None:
    if "url" in part or not isinstance(part.get("data"), str):
        return None
    more = {key: value for key, value in part.items() if key not in ("data", "mimeType", "type")}
    return {**file_part(data_url(part.get("mimeType"), part["data"]), part.get("mimeType")), **more}


def _image(part: Part) -> Part | None:
    if not isinstance(part.get("image"), str):
        return None
    more = {key: value for key, value in part.items() if key not in ("type", "image")}
    return {**file_part(data_url(IMAGE, part["image"]), otherwise=IMAGE), **more}


_OLDER: dict[str, Callable[[Part], Part | None]] = {
    "tool-invocation": _invocation,
    "tool-call": _tool_call,
    "reasoning": _reasoning,
    "source": _source,
    "file": _file,
    "image": _image,
}


def _attachment(entry: Any) -> Part:
    if isinstance(entry, dict) and isinstance(entry.get("url"), str):
        return file_part(entry["url"], entry.get("contentType"), entry.get("name"))
    return data_part(FORMAT, "attachment", entry)
