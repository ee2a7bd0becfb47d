"""Export files with bytes and values changed at random: read, or refused; and what was stored of them is sound."""

from __future__ import annotations

import io
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eventstore import EventStoreError, Sessions
from eventstore.exchange import InvalidExport
from eventstore.exchange.files import import_file, recognise
from eventstore.exchange.jsonl import export
from tests.laws.verbs import prepare

SEEDS = 40
SAMPLES = Path(__file__).parent / "samples"
VALUES: tuple[Any, ...] = (
    None, True, 0, -1, 1.5, 1e308, 10**30, "", "rubbish", "\ud83d", [], {}, [None], {"a": 1}, "client-created-root",
)  # fmt: skip


def _own_export() -> bytes:
    with Sessions() as sessions:
        prepare(sessions.session("a")).add_compaction("they met", "m1", "m2")
        prepare(sessions.session("b")).update_message({"id": "m3", "role": "user", "parts": []})
        file = io.BytesIO()
        export(sessions, None, file)
        return file.getvalue()


FILES: dict[str, Callable[[], bytes]] = {
    "three conversations": (SAMPLES / "three-conversations.json").read_bytes,
    "tools and pictures": (SAMPLES / "tools-and-pictures.json").read_bytes,
    "our own": _own_export,
}


def rotten_bytes(data: bytes, chosen: random.Random) -> bytes:
    """Bytes changed, taken out, doubled; or the end torn off."""
    rotten = bytearray(data)
    for _ in range(chosen.choice((1, 1, 3, 20))):
        at = chosen.randrange(len(rotten))
        kind = chosen.randrange(4)
        if kind == 0:
            rotten[at] = chosen.randrange(256)
        elif kind == 1:
            del rotten[at : at + chosen.choice((1, 2, 50))]
        elif kind == 2:
            rotten[at:at] = rotten[at : at + chosen.choice((1, 2, 50))]
        elif chosen.random() < 0.2:
            del rotten[at:]
        if not rotten:
            break
    return bytes(rotten)


def rotten_values(data: bytes, chosen: random.Random) -> bytes:
    """Sound JSON, with values of another kind, or missing, at random places."""
    lines = data.splitlines() if data.startswith(b'{"eventstore"') else [data]
    values = [json.loads(line) for line in lines]
    for _ in range(chosen.choice((1, 1, 3))):
        owner: Any = values
        key: Any = chosen.randrange(len(values))
        while isinstance(owner[key], (dict, list)) and owner[key] and chosen.random() < 0.9:
            owner = owner[key]
            key = chosen.choice(list(owner)) if isinstance(owner, dict) else chosen.randrange(len(owner))
        if chosen.random() < 0.3 and isinstance(owner, dict):
            del owner[key]
        else:
            owner[key] = chosen.choice(VALUES)
    return b"\n".join(json.dumps(value).encode() for value in values) + b"\n"


@pytest.mark.parametrize("rot", [rotten_bytes, rotten_values], ids=["bytes", "values"])
@pytest.mark.parametrize("name", FILES)
def test_a_rotten_export_is_read_or_refused(
    tmp_path: Path, name: str, rot: Callable[[bytes, random.Random], bytes]
) -> None:
    whole, path = FILES[name](), tmp_path / "export"
    refused = 0
    for seed in range(SEEDS):
        path.write_bytes(rot(whole, random.Random(f"{name} {seed}")))
        with Sessions() as sessions:
            try:
                recognise(path)
                list(import_file(sessions, path))
            except InvalidExport as error:
                refused += str(path) in str(error)
            except EventStoreError as error:
                raise AssertionError(f"seed {seed}: {error!r} doesn't speak of the file") from error
            except Exception as error:
                raise AssertionError(f"seed {seed}: {error!r} is none of ours") from error
            report = sessions.verify()
            assert report.ok, (seed, report.problems)
            for info in sessions.list_sessions():
                assert len(list(sessions.session(info.session_id).tree())) == info.messages
    assert 0 < refused < SEEDS
