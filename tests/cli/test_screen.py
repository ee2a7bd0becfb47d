"""What reaches a terminal: nothing that it would obey, and nothing that its encoding lacks."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.text import Text

from eventstore.cli.screen import Screen, name, one_line, safe_json, to_json, visible
from eventstore.testing import json_text
from eventstore.testing.values import json_values

ANY = st.text(st.characters(exclude_categories=())) | st.text(
    "\x00\x07\x1b\x7f\x85\x9b\r\n\t[]m31\u2028\u202e\u2066\ud83d"
)
OBEYED = {*map(chr, range(32)), *map(chr, range(0x7F, 0xA0)), *"\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2066\u2069"}


@given(ANY)
def test_nothing_that_a_terminal_obeys_is_left(text: str) -> None:
    assert set(visible(text)) & OBEYED <= {"\n", "\t"}
    assert not set(one_line(text)) & OBEYED
    assert not set(name(text)) & OBEYED
    visible(text).encode()
    assert visible(visible(text)) == visible(text)


def test_ordinary_text_of_every_script_stays_as_it_is() -> None:
    for text in ("Grüße, 你好, שלום, 👩‍👩‍👧‍👦\n\tindented [bold]x[/bold] :smile:", "a\\x1b written out"):
        assert visible(text) == text
    assert visible("one\r\ntwo\rthree") == "one\ntwo\\x0dthree"
    assert one_line("  one\n\n two\t") == "one two"
    assert name("a  b\nc\td\x1b") == "a  b\\nc\\td\\x1b"


@given(json_values())
def test_json_is_plain_ascii_and_equal(value: Any) -> None:
    text = to_json(value)
    assert all(" " <= character <= "~" for character in text)
    assert json_text(json.loads(text)) == json_text(value)
    safe = safe_json(json_text(value))
    assert not set(safe) & OBEYED
    assert json_text(json.loads(safe)) == json_text(value)


def test_json_holds_integers_of_any_size() -> None:
    assert to_json([10**5000]) == f"[1{'0' * 5000}]"


def written(encoding: str, text: str) -> str:
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding=encoding)
    screen = Screen(stream)
    screen.print(screen.visible(text))
    screen.print(Text(f"{screen.pick('●', '*')} {text}"))
    stream.flush()
    return data.getvalue().decode(encoding)


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("utf-8", "é 你 [b]x[/b]\n● é 你 [b]x[/b]\n"),
        ("latin-1", "é \\u4f60 [b]x[/b]\n* é \\u4f60 [b]x[/b]\n"),
        ("ascii", "\\xe9 \\u4f60 [b]x[/b]\n* \\xe9 \\u4f60 [b]x[/b]\n"),
    ],
)
def test_what_an_encoding_lacks_is_spelt_out(monkeypatch: pytest.MonkeyPatch, encoding: str, expected: str) -> None:
    for variable in ("COLUMNS", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(variable, raising=False)
    assert written(encoding, "é 你 [b]x[/b]") == expected


@pytest.mark.parametrize(("columns", "width"), [(None, None), ("40", 40), ("0", 20), ("3", 20)])
def test_the_width_is_unlimited_unless_somebody_says(
    monkeypatch: pytest.MonkeyPatch, columns: str | None, width: int | None
) -> None:
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("TTY_COMPATIBLE", raising=False)
    if columns is None:
        monkeypatch.delenv("COLUMNS", raising=False)
    else:
        monkeypatch.setenv("COLUMNS", columns)
    stream = io.StringIO()
    screen = Screen(stream)
    assert screen.width == width
    screen.print("你好" * 100, crop=True)
    line = stream.getvalue().rstrip("\n")
    if width is None:
        assert line == "你好" * 100
    else:
        assert line.endswith("…")
        assert cell_len(line) <= width
