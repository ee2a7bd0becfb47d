"""Which strings leave a message, and which never do."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from eventstore import NotSerializable, Sessions, codec, estimate_tokens, media
from eventstore.testing import same_json
from tests.unit.talk import message

PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
URL = f"data:image/png;base64,{PNG}"


def taken(*parts: Any) -> list[str]:
    """What is taken out of a message with these parts, which must not change by it."""
    given: Any = {"id": "m", "role": "user", "parts": [{"type": "file", **part} for part in parts]}
    encoded = codec.encode_message(given)
    assert same_json(encoded.value, given)
    assert same_json(codec.own_value(encoded), given)
    assert codec.full_text(encoded) == codec.encode(given).text
    assert encoded.size == codec.encode(given).size
    return [each.base64 for each in encoded.media]


@pytest.mark.parametrize(
    "part",
    [
        {"mediaType": "image/png", "url": URL},
        {"url": URL},
        {"mimeType": "image/png", "data": PNG},
        {"media_type": "image/png", "data": PNG},
        {"mediaType": "IMAGE/PNG", "data": PNG},
        {"mediaType": "application/pdf", "url": URL},
        {"mediaType": "image/png", "url": None, "data": PNG},
        {"image_url": {"url": URL, "detail": "low"}},
        {"source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"output": [[{"content": [{"type": "image", "mimeType": "image/png", "data": PNG}]}]]},
        {"output": {"half": "\ud83d", "much": 2**80, "file": {"mediaType": "image/png", "data": PNG}}},
        {"output": ({"mediaType": "image/png", "data": PNG},)},
    ],
)
def test_base64_that_comes_back_leaves_the_message(part: Any) -> None:
    assert taken(part) == [PNG]


@pytest.mark.parametrize(
    "part",
    [
        {"mediaType": "text/plain", "url": URL},
        {"mediaType": "Text/Plain", "data": PNG},
        {"url": URL.replace("data:", "DATA:")},
        {"url": URL.replace(";base64", ";name=a.png;base64")},
        {"url": URL.replace(";base64", ";charset=utf-8;base64")},
        {"url": URL.replace("image/png", "")},
        {"url": URL.replace("image/png", "text/html")},
        {"url": "data:image/svg+xml,%3Csvg%2F%3E"},
        {"url": " " + URL},
        {"url": URL + "\n"},
        {"url": URL.rstrip("=")},
        {"url": URL + "===="},
        {"url": "data:image/png;base64,"},
        {"mediaType": "image/png", "data": ""},
        {"mediaType": "image/png", "data": "Hello World"},
        {"mediaType": "image/png", "data": "AB=C"},
        {"mediaType": "image/png", "data": "QUJ="},  # stray bits: "QUI=" is what encoding gives
        {"mediaType": "image/png", "data": "ab-_"},
        {"mediaType": "image/png", "data": "QUJD QUJD"},
        {"mediaType": "image/png", "data": "QUJDé==="},
        {"mediaType": "image/png", "data": "QUJ\ud83d"},
        {"mediaType": "image/png", "data": [PNG]},
        {"mediaType": "image/png", "url": "https://example.org/a.png", "data": PNG},
        {"mediaType": None, "data": PNG},
        {"mediaType": 1, "data": PNG},
        {"data": PNG},
        {"text": URL},
    ],
)
def test_all_else_stays(part: Any) -> None:
    assert taken(part) == []


def test_only_parts_are_looked_at() -> None:
    given: Any = message("m", metadata={"mediaType": "image/png", "data": PNG}, avatar={"url": URL})
    assert codec.encode_message(given).media == ()


def test_what_is_taken_out_is_in_the_order_of_the_text() -> None:
    others = [base64.b64encode(bytes([n] * n)).decode() for n in range(1, 30)]
    parts = [{"z": {"mediaType": "a/b", "data": first}, "a": [{"url": f"data:a/b;base64,{second}"}]}
             for first, second in zip(others[::2], others[1::2], strict=False)]  # fmt: skip
    assert taken(*parts) == others[: 2 * len(parts)]


@pytest.mark.parametrize("over", [-1, 0, 1])
@pytest.mark.parametrize("slices", [1, 2])
def test_bytes_about_as_long_as_slices_come_back(slices: int, over: int) -> None:
    text = base64.b64encode(b"\x07" * (slices * media.SLICE_BYTES + over)).decode()
    assert taken({"mediaType": "a/b", "data": text}) == [text]
    assert media.encoded_length(slices * media.SLICE_BYTES + over) == len(text)
    pieces = list(media.decoded(text))
    assert max(map(len, pieces)) <= media.SLICE_BYTES
    assert "".join(map(media.encoded, pieces)) == text


def test_a_fault_behind_the_first_slice_is_seen() -> None:
    text = base64.b64encode(b"\x07" * (media.SLICE_BYTES + 3)).decode()
    for spoilt in (text[:-1] + " ", text[:-1] + "é", text[:4] + "==" + text[6:]):
        assert not media.is_exact(spoilt, 0)


def test_a_value_in_itself_is_refused_among_media_too() -> None:
    circle: list[Any] = [{"url": URL}]
    circle.append(circle)
    with Sessions() as sessions, pytest.raises(NotSerializable, match="nested deeper"):
        sessions.session().append_message({"id": "m", "role": "user", "parts": [{"type": "x", "output": circle}]})


@pytest.mark.parametrize("depth", [10, 240, 260, 490])
def test_media_are_found_at_any_depth(depth: int) -> None:
    value: Any = {"url": URL}
    for _ in range(depth):
        value = [value]
    given: Any = {"id": "m", "role": "user", "parts": [{"type": "x", "output": value}]}
    encoded = codec.encode_message(given)
    assert [each.base64 for each in encoded.media] == [PNG]
    back: Any = codec.own_value(encoded)["parts"][0]["output"]
    for _ in range(depth):
        (back,) = back
    assert back == {"url": URL}


def tokens(*parts: Any) -> int:
    return estimate_tokens({"id": "m", "role": "user", "parts": list(parts)}) - 4


def test_an_image_in_the_output_of_a_tool_is_an_image() -> None:
    image = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(bytes(300_000)).decode()}
    link = {"type": "image", "mimeType": "image/png", "url": "https://example.org/" + "a" * 4_000}
    odd = {"type": "image", "mimeType": "image/png", "url": None, "data": image["data"]}
    for output in ({"content": [image]}, [[image]], {"a": link}, odd):
        assert 1_600 < tokens({"type": "tool-look", "input": None, "output": output}) < 1_700
    both = tokens({"type": "dynamic-tool", "input": image, "output": [image, link]})
    assert 3 * 1_600 < both < 3 * 1_600 + 150
    assert tokens({"type": "tool-look", "output": {"url": "https://example.org/"}}) < 20


def test_other_attachments_count_by_their_bytes_up_to_a_limit() -> None:
    for size, expected in ((4_000, 1_000), (400_000, 20_000)):
        url = "data:application/pdf;base64," + base64.b64encode(bytes(size)).decode()
        assert tokens({"type": "file", "mediaType": "application/pdf", "url": url}) == pytest.approx(expected, abs=2)
    assert tokens({"type": "file", "mediaType": "application/pdf", "url": "https://example.org/a.pdf"}) == 0


@pytest.mark.parametrize("words", ["word ", "longer\u2003words\n", "x", " ", "a\x1cb", "半 "])
def test_the_words_of_a_large_text_are_counted_in_stretches(words: str) -> None:
    for over in range(-2, 3):
        text = (words * 140_000)[: 131_072 + over]
        expected = max(-(-len(text.encode()) // 4), -(-13 * len(text.split()) // 10))
        assert tokens({"type": "text", "text": text}) == expected
