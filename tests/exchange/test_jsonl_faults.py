"""Files of our own JSON Lines that make no sense, or little: told with their line, and nothing of them written."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from eventstore import Sessions
from eventstore.exchange import InvalidExport
from eventstore.testing import json_text
from tests.exchange.exports import deep, exported, heard, ids, joined, lines, message, small_export, stored


def test_a_file_torn_anywhere_is_refused_and_its_session_not_written(
    sessions: Sessions, there: Sessions, tmp_path: Path
) -> None:
    data = small_export(sessions)
    first = data.index(b'{"eventstore"', 1)
    ends = {at + more for at, byte in enumerate(data) if byte == 10 for more in (-1, 0, 1)}
    for length in sorted({*range(1, len(data), 5), *ends} - {len(data)}):
        torn = data[:length]
        with Sessions() as target:
            if length in (first - 1, first, len(data) - 1):  # only the last line's end is missing, or all that follows
                assert len(stored(target, tmp_path, torn)) == (1 if length <= first else 2)
                continue
            with pytest.raises(InvalidExport) as caught:
                stored(target, tmp_path, torn)
            assert caught.value.line in (torn.count(b"\n"), torn.count(b"\n") + 1), caught.value
            names = [info.session_id for info in target.list_sessions()]
            assert names == (["first"] if length > first else [])


Change = Callable[[list[Any]], object]
FAULTS: dict[str, tuple[Change, int, str]] = {
    "rubbish": (lambda given: given.insert(3, b"\0\xff rubbish\n"), 4, "UTF-8"),
    "not JSON": (lambda given: given.insert(3, b"{'a': 1}\n"), 4, "wanted JSON, found a fault"),
    "not an object": (lambda given: given.insert(3, [1]), 4, "wanted a JSON object"),
    "NaN": (lambda given: given[1]["body"].update(x=float("nan")), 2, "JSON has no nan"),
    "too deep": (lambda given: given[1]["body"].update(x=deep(600)), 2, "nested"),
    "far too deep": (lambda given: given.insert(1, b"[" * 100_000 + b"\n"), 2, "nested"),
    "unknown type": (lambda given: given[2].update(type="explode"), 3, "found type 'explode'"),
    "no type": (lambda given: given[2].pop("type"), 3, "found type nothing"),
    "a key too few": (lambda given: given[2].pop("tokens"), 3, "lacks 'tokens'"),
    "a key too many": (lambda given: given[2].update(parnet=1), 3, "unknown 'parnet'"),
    "parent never given": (lambda given: given[2].update(parent=77), 3, "found 77, which none has"),
    "parent given later": (lambda given: given[1].update(parent=2), 2, "found 2, which none has"),
    "message never given": (lambda given: given[4].update(message=9), 5, "found 9, which none has"),
    "deleted never given": (lambda given: given[5].update(deleted=[3, 9]), 6, "found 9, which none has"),
    "deleted twice": (lambda given: given[5].update(deleted=[3, 3]), 6, "found 3, which was deleted before"),
    "deleted and updated": (lambda given: given[5].update(deleted=[2]), 6, "found that 2 has one"),
    "selected after its end": (lambda given: given[6].update(message=3), 7, "found 3, which was deleted before"),
    "updated twice": (lambda given: given.insert(5, given[4]), 6, "second update of 2"),
    "the same seq": (lambda given: given[2].update(seq=1), 3, "found 1, which an import before has"),
    "the same id": (lambda given: given[2].update(id="a"), 3, "found 'a', which a message"),
    "an id that isn't the body's": (lambda given: given[1].update(id="other"), 2, "found the body of 'a'"),
    "another's body": (lambda given: given[4]["body"].update(id="a"), 5, "found the body of another"),
    "not a message": (lambda given: given[1]["body"].pop("parts"), 2, "'parts' must be a list"),
    "an empty id": (lambda given: given[1].update(id=""), 2, "as 'id', found ''"),
    "half a pair in an id": (lambda given: given[1].update(id="\ud83d"), 2, "as 'id'"),
    "a seq that is none": (lambda given: given[1].update(seq=True), 2, "as 'seq', found True"),
    "a seq too large": (lambda given: given[1].update(seq=2**70), 2, "as 'seq'"),
    "bytes below nothing": (lambda given: given[3].update(bytes=-1), 4, "as 'bytes', found -1"),
    "no list": (lambda given: given[5].update(deleted=3), 6, "as 'deleted', found 3"),
    "a naive time": (lambda given: given[1].update(at="2026-01-01T12:00:00"), 2, "a time with its zone"),
    "a time that is none": (lambda given: given[1].update(at=12), 2, "a time with its zone"),
    "a time out of range": (lambda given: given[1].update(at="0001-01-01T00:00:00+10:00"), 2, "a time with its zone"),
    "metadata that is none": (lambda given: given[7].update(body=[]), 8, "wanted an object"),
    "a line left out": (lambda given: given.pop(6), 8, "its end after 6 steps, which says another number"),
    "no end": (lambda given: given.pop(8), 9, "beginning of another"),
    "no header": (lambda given: given.pop(9), 10, "wanted the first line of a session"),
    "a later version": (lambda given: given[0].update(eventstore=2), 1, "found version 2"),
    "version true": (lambda given: given[0].update(eventstore=True), 1, "found version True"),
    "a session without a name": (lambda given: given[0].pop("session"), 1, "wanted a session's first line"),
    "a name that is none": (lambda given: given[0].update(session="\ud83d"), 1, "as 'session'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_is_told_with_its_line_and_its_session_is_not_written(
    sessions: Sessions, there: Sessions, tmp_path: Path, fault: str
) -> None:
    change, line, reason = FAULTS[fault]
    given = lines(small_export(sessions))
    change(given)
    events = heard(there)
    for _ in range(2):
        with pytest.raises(InvalidExport) as caught:
            stored(there, tmp_path, joined(given))
        assert (caught.value.line, caught.value.path) == (line, str(tmp_path / "export.jsonl"))
        assert reason in caught.value.reason
        assert "\n" not in str(caught.value)
    names = [info.session_id for info in there.list_sessions()]
    assert names == (["first"] if line >= 10 else [])
    assert bool(events) == bool(names)


def test_a_fault_in_a_merge_leaves_what_was_there(sessions: Sessions, there: Sessions, tmp_path: Path) -> None:
    given = lines(small_export(sessions))
    there.session("first").append_message(message("own"))
    seq = there.latest_seq
    with pytest.raises(InvalidExport):
        stored(there, tmp_path, joined(given[:-4]))
    assert (there.latest_seq, ids(there.session("first"))) == (seq, {"own": None})


def test_a_file_that_was_edited_by_hand_is_read(sessions: Sessions, there: Sessions, tmp_path: Path) -> None:
    given = lines(small_export(sessions))
    given[1]["at"] = "2026-01-01T12:00:00+02:00"
    given[1]["body"]["parts"][0]["text"] = "Edited, and so of another size"
    turned = [dict(reversed(line.items())) for line in given[1:9]]
    spaced = [json.dumps(line, separators=(" , ", " : ")).encode() + b"\r\n\r\n" for line in turned]
    data = b"\xef\xbb\xbf\n" + joined([given[0], *spaced, *given[9:]])
    assert [name for name, _ in stored(there, tmp_path, data)] == ["first", "second"]
    session = there.session("first")
    edited = session.get_message("a")
    assert edited is not None
    assert edited["parts"] == [{"type": "text", "text": "Edited, and so of another size"}]
    info = session.get_message_info("a")
    assert info is not None
    assert info.bytes == len(json_text(edited))
    assert info.created_at == datetime(2026, 1, 1, 10, tzinfo=UTC)
    assert there.verify().ok


def test_summaries_are_replayed_and_not_merged(sessions: Sessions, there: Sessions, tmp_path: Path) -> None:
    given = lines(small_export(sessions))[:9]
    at = given[1]["at"]
    given[7:] = [
        {"type": "compact", "seq": 9, "at": at, "id": "s", "message": 1, "parent": 2, "body": "What was said"},
        {"type": "end", "steps": 7},
    ]
    stored(there, tmp_path, joined(given))
    assert there.verify().ok
    summaries = [line for line in lines(exported(there)) if line.get("type") in ("compact", "compaction")]
    assert [(line["id"], line["message"], line["parent"], line["body"]) for line in summaries] == [
        ("s", 1, 2, "What was said")
    ]
    seq = there.latest_seq
    for name, left_out in (("s", []), ("t", ["summary 't'"])):  # one that is there isn't left out
        given[7]["id"] = name
        [(_, report)] = stored(there, tmp_path, joined(given))
        assert [what for what, _ in report.skipped] == left_out
    assert there.latest_seq == seq
    given[7]["message"] = 12
    with pytest.raises(InvalidExport, match="found 12, which none has"):
        stored(there, tmp_path, joined(given))
