"""The summarisers that recordings name, and their registration on a session."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

import eventstore
from tests.conformance.names import Names
from tests.conformance.recording import Json, Operation

STORE: Any = eventstore
"""The package, untyped: compaction may be a part that isn't built yet. The same goes for sessions below."""


class SummarizerFailed(Exception):
    """What a summariser of kind "throw" raises."""


class Summarizers:
    """Builds the recorded kinds of summariser and keeps the prompts that they were given, newest last."""

    def __init__(self, call: Callable[[Operation], Any]) -> None:
        self.prompts: list[str] = []
        self._call = call
        self._calls: Counter[str] = Counter()

    def register(self, session: Any, operation: Operation) -> None:
        """`setCompaction`: a compact function where the operation gives one, a threshold where it gives one."""
        if "summarizer" in operation:
            keep = {"keep_recent_tokens": operation["keepRecentTokens"]} if "keepRecentTokens" in operation else {}
            summarize = self._summarizer(session, operation["summarizer"])
            session.on_compaction(STORE.create_compact_function(summarize, **keep))
        if "custom" in operation:
            custom = operation["custom"]
            result = STORE.CompactResult(custom["fromMessageId"], custom["toMessageId"], custom["summary"])
            session.on_compaction(lambda messages: result)
        if "compactAfter" in operation:
            session.compact_after(operation["compactAfter"])

    def _summarizer(self, session: Any, chosen: Mapping[str, Any]) -> Callable[[str], str]:
        texts = iter(chosen.get("texts", ()))

        def summarize(prompt: str) -> str:
            self.prompts.append(prompt)
            self._calls[session.session_id] += 1
            for operation in chosen.get("during", ()):
                self._call(operation)
            match chosen["kind"]:
                case "count":
                    return f"S{self._calls[session.session_id]}"
                case "fixed":
                    return str(chosen["text"])
                case "list":
                    return str(next(texts))
                case "prompt":
                    return prompt
                case "promptHash":
                    return hashed(prompt)
                case "blank":
                    return " \n\t "
                case "throw":
                    raise SummarizerFailed(chosen.get("message", "boom"))
                case kind:
                    raise AssertionError(f"a summariser of the kind {kind!r} is not known")

        return summarize

    @staticmethod
    def learn_wording(names: Names, ours: str, theirs: Json) -> None:
        """Let summaries that repeat our prompt, or its hash, be read as those that repeat the recorded one."""
        names.learn_wording(ours, theirs)
        names.learn_wording(hashed(ours), hashed(theirs))


def hashed(prompt: Json) -> str:
    """`P<code points>:<start of the SHA-256>` of a prompt, also of one recorded as length and digest."""
    if isinstance(prompt, str):
        return f"P{len(prompt)}:{sha256(prompt.encode()).hexdigest()[:16]}"
    return f"P{prompt['$len']}:{prompt['$sha256'][:16]}"
