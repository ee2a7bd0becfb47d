"""Estimates: each rule by itself, and stamped on messages as they are written."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from fractions import Fraction
from math import ceil
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eventstore import InvalidArgument, Message, Session, Sessions, codec, estimate_tokens
from eventstore.drafting import MOST_TOKENS
from eventstore.testing.values import json_values, texts
from tests.unit.talk import message

PER_MESSAGE = 4


def of(*parts: dict[str, Any]) -> int:
    """The estimate of a message of these parts, without what every message costs."""
    return estimate_tokens({"id": "a", "role": "user", "parts": list(parts)}) - PER_MESSAGE


def text_tokens(text: str) -> int:
    """Per text the larger of UTF-8 bytes / 4 and 1.3 x words, rounded up."""
    size = len(text.encode("utf-8", "surrogatepass"))
    return max(ceil(Fraction(size, 4)), ceil(Fraction(13, 10) * len(text.split())))


def data_url(media_type: str, size: int) -> str:
    return f"data:{media_type};base64,{base64.b64encode(b'x' * size).decode()}"


def test_a_message_costs_four() -> None:
    assert estimate_tokens({"id": "a", "role": "user", "parts": []}) == 4
    assert estimate_tokens({"id": "a" * 100, "role": "user", "parts": [], "metadata": {"long": "x" * 1_000}}) == 4


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 1),
        ("a", 2),  # one word: 1.3
        ("abcdefgh", 2),
        ("abcdefghi", 3),
        ("a b c d", 6),  # four words: 5.2
        ("a b c d e f g h i j", 13),
        ("你好世界", 3),
        ("你\u3000好", 3),  # an ideographic space parts words
        ("👍👍👍", 3),
        ("\ud83d", 2),
        ("x" * 4_000, 1_000),
    ],
)
def test_a_text_costs_its_bytes_or_its_words(text: str, tokens: int) -> None:
    assert of({"type": "text", "text": text}) == tokens == text_tokens(text)
    assert of({"type": "reasoning", "text": text}) == tokens
    assert of({"type": "tool-x", "input": text}) == of({"type": "dynamic-tool", "output": text}) == tokens


@given(st.lists(texts() | st.text(), max_size=4))
def test_each_text_is_rounded_by_itself(given_texts: list[str]) -> None:
    assert of(*({"type": "text", "text": text} for text in given_texts)) == sum(map(text_tokens, given_texts))


@given(json_values(), json_values())
def test_a_tools_values_cost_their_json(tool_input: Any, output: Any) -> None:
    def expected(value: Any) -> int:
        if value is None:
            return 0
        return text_tokens(value if isinstance(value, str) else codec.encode(value).text)

    for kind in ("tool-search", "dynamic-tool"):
        part = {"type": kind, "toolCallId": "1", "input": tool_input, "output": output, "errorText": "not counted"}
        assert of(part) == expected(tool_input) + expected(output)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "text"},
        {"type": "text", "text": None},
        {"type": "text", "text": 5},
        {"type": "reasoning", "text": ["a b c"]},
        {"type": "step-start"},
        {"type": "data-weather", "data": {"city": "a long name of a city"}},
        {"type": "data-note", "data": "a text that no media type is declared for"},
        {"type": "source-url", "url": "https://example.org/a/long/path", "title": "A title"},
        {"type": "tool-x", "input": None, "output": None, "errorText": "not counted"},
        {"type": "tool", "input": "not a tool's part"},
        {"type": "", "text": "no type"},
        {"type": "file", "mediaType": "application/pdf", "url": "https://example.org/a.pdf"},
        {"type": "file", "mediaType": "application/pdf", "url": None},
        {"type": "file", "mediaType": "application/pdf"},
        {"type": "file", "mediaType": "application/pdf", "data": {"not": "text"}},
        {"type": "file", "mediaType": ["application/pdf"], "data": "QUJD"},
    ],
    ids=str,
)
def test_what_carries_no_text_costs_nothing(part: dict[str, Any]) -> None:
    assert of(part) == 0


@pytest.mark.parametrize("media_type", ["image/png", "image/svg+xml", "image/"])
@pytest.mark.parametrize("carried", ["url", "data", "link"])
def test_an_image_costs_a_flat_sum(media_type: str, carried: str) -> None:
    for size in (0, 1, 1_000_000):
        payload = data_url(media_type, size)
        if carried == "data":
            part = {"data": payload.partition(",")[2]}
        else:
            part = {"url": payload if carried == "url" else "https://example.org/a.png"}
        assert of({"type": "file", "mediaType": media_type, **part}) == 1_600
        assert of({"type": "text", "text": "a b"}, {"type": "file", "mediaType": media_type, **part}) == 1_603


@given(
    st.integers(0, 30) | st.integers(79_990, 80_010) | st.just(400_000),
    st.sampled_from(("application/pdf", "audio/mp3")),
)
def test_other_attachments_cost_a_quarter_of_their_bytes_up_to_a_limit(size: int, media_type: str) -> None:
    expected = min(ceil(size / 4), 20_000)
    url = data_url(media_type, size)
    assert of({"type": "file", "mediaType": media_type, "url": url}) == expected
    assert of({"type": "file", "mediaType": media_type, "url": "DATA:" + url[5:]}) == expected
    assert of({"type": "file", "mediaType": media_type, "data": url.partition(",")[2]}) == expected


def test_texts_and_undeclared_media_are_attachments_when_they_are_inline() -> None:
    assert of({"type": "file", "mediaType": "text/plain", "url": data_url("text/plain", 1_000)}) == 250
    assert of({"type": "file", "mediaType": "text/csv", "url": "data:text/csv," + "a,b%0A" * 100}) == 150
    assert of({"type": "file", "url": data_url("application/zip", 1_000)}) == 250


@pytest.mark.parametrize(
    "around", [lambda value: value, lambda value: [value], lambda value: {"a": [{"b": (value, 1)}]}]
)
def test_attachments_in_a_tools_output_count_as_such_and_not_as_text(around: Any) -> None:
    image = {"mediaType": "image/png", "data": base64.b64encode(b"x" * 90_000).decode()}
    document = {"mediaType": "application/pdf", "url": data_url("application/pdf", 400)}
    for media, tokens in ((image, 1_600), (document, 100)):
        stub = {key: "" if key in ("data", "url") else value for key, value in media.items()}
        expected = tokens + text_tokens(json.dumps(around(stub), separators=(",", ":")))
        assert of({"type": "tool-x", "output": around(media)}) == expected
        assert of({"type": "tool-x", "input": around(media)}) == expected
    both = {"content": [image, image, document]}
    assert 3_300 < of({"type": "tool-x", "output": both}) < 3_380


def test_deep_and_foreign_values_count_too() -> None:
    deep: Any = "x" * 400
    for _ in range(450):
        deep = [deep]
    assert of({"type": "tool-x", "output": deep}) == ceil((400 + 2 + 900) / 4)
    assert of({"type": "tool-x", "output": MappingProxyType({"a": 2**70})}) == text_tokens(
        '{"a":1180591620717411303424}'
    )


# ---- stamped


def test_estimates_are_stamped_when_a_message_is_written(sessions: Sessions, session: Session) -> None:
    session.append_message(message("a", "one two three"))
    session.append_message(message("b", "four"))
    assert [info.token_estimate for info in session.tree()] == [8, 6]
    assert session.token_estimate() == session.info().token_estimate == 14
    session.update_message(message("a", "one"))
    assert [info.token_estimate for info in session.tree()] == [6, 6]
    assert session.token_estimate() == 12


def test_another_counter_takes_the_place_of_the_estimate(place: str) -> None:
    seen: list[Message] = []

    def count(given_message: Message) -> int:
        seen.append(given_message)
        return len(given_message["parts"][0]["text"])

    with Sessions(place, count_tokens=count) as sessions:
        session = sessions.session()
        session.append_messages([message("a", "xxx"), message("b", "xxxxx")])
        session.update_message(message("a", "x"))
        assert session.token_estimate() == 6
        assert session.token_estimate(leaf_id="a") == 1
        called = len(seen)
        sessions.rebuild()  # the stamps are in the log
        assert sessions.verify().ok
        assert session.token_estimate() == 6
        assert len(seen) == called


@pytest.mark.parametrize("wrong", [-1, 1.5, None, "5", 2**40 + 1, 2**63 - 1, 2**63, 10**700, -(2**63)])
def test_a_counter_that_does_not_count_is_refused(wrong: Any) -> None:
    with Sessions(count_tokens=lambda _message: wrong) as sessions:
        session = sessions.session()
        for write in (
            lambda: session.append_message(message("a")),
            lambda: session.append_messages([message("a"), message("b")]),
            lambda: session.import_message(message("a"), parent_id=None, created_at=datetime.now(UTC)),
        ):
            with pytest.raises(InvalidArgument, match="count_tokens"):
                write()
        assert sessions.latest_seq == 0


def test_the_most_that_is_counted_can_be_summed() -> None:
    with Sessions(count_tokens=lambda _message: MOST_TOKENS) as sessions:
        sessions.session().append_messages([message(f"m{n}") for n in range(300)])
        assert sessions.session().token_estimate() == sessions.session().info().token_estimate == 300 * MOST_TOKENS
        assert sessions.verify().ok


@pytest.mark.parametrize("failure", [ZeroDivisionError, StopIteration])
@pytest.mark.parametrize("counted", [0, 1])
def test_a_counter_that_raises_stops_the_write(failure: type[Exception], counted: int) -> None:
    """Also with what ends a loop over counts, instead of breaking it off."""
    calls: list[Message] = []

    def failing(given_message: Message) -> int:
        calls.append(given_message)
        if len(calls) > counted:
            raise failure
        return 1

    with Sessions(count_tokens=failing) as sessions:
        with pytest.raises(failure):
            sessions.session().append_messages([message("a"), message("b"), message("c")])
        assert sessions.latest_seq == 0
        assert sessions.session().get_history() == []
        assert sessions.verify().ok
