"""What the importers find in the samples, so that a change of it is noticed: files that were imported before have to be
read again then.

`python -m tests.exchange.found` writes `found.json` anew: for a new sample as it is, and where other things are found
than before once `VERSION` of `eventstore.exchange.store` was raised.
"""

from __future__ import annotations

import json
import sys
from hashlib import blake2b
from pathlib import Path
from typing import Any

from eventstore.exchange import format_of
from eventstore.exchange.conversation import Conversation
from eventstore.exchange.store import VERSION
from tests.exchange.laws import SAMPLES

PATH = Path(__file__).parent / "found.json"


def found() -> dict[str, Any]:
    """A digest of what is found in each sample, and the version of the importers that find it."""
    return {"version": VERSION, "samples": {sample.file: _digest(sample.path) for sample in SAMPLES}}


def recorded() -> dict[str, Any]:
    """What was found as this was written last."""
    there: dict[str, Any] = json.loads(PATH.read_text(encoding="ascii"))
    return there


def _digest(path: Path) -> str:
    told = [_told(conversation) for conversation in format_of(path).read(path)]
    return blake2b(json.dumps(told, sort_keys=True).encode(), digest_size=16).hexdigest()


def _told(conversation: Conversation) -> list[Any]:
    """All of a conversation that is stored."""
    return [
        conversation.session_id,
        conversation.metadata,
        [[row.message, row.parent_id, row.created_at.isoformat()] for row in conversation.rows],
        conversation.current,
        [
            [each.from_message_id, each.to_message_id, each.summary, each.created_at.isoformat()]
            for each in conversation.summaries
        ],
    ]


if __name__ == "__main__":
    now, before = found(), recorded()
    changed = [file for file, digest in before["samples"].items() if now["samples"].get(file, digest) != digest]
    if changed and now["version"] == before["version"]:
        sys.exit(f"other things are found in {', '.join(changed)}: raise VERSION in eventstore/exchange/store.py first")
    PATH.write_text(json.dumps(now, indent=1) + "\n", encoding="ascii")
