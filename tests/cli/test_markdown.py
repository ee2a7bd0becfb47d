"""`export --format markdown`: whatever is said is there, and nothing that is said breaks out of its place.

The documents are read by a parser of CommonMark, and what it finds is compared with what the store holds.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from eventstore import Sessions
from eventstore.cli import markdown
from eventstore.cli.screen import name, one_line, visible
from tests.cli.running import make_store, message, run

PARSER = MarkdownIt("commonmark")
PIECES = st.sampled_from(
    [
        *(
            "```",
            "````",
            "~~~",
            "> ",
            "# ",
            "#",
            "- ",
            "1. ",
            "    ",
            "\n",
            "\n\n",
            "\t",
            "\\",
            "`",
            "*",
            "_",
            "===",
            "---",
        ),
        *(
            "[a]: /b",
            "[a]",
            "![x](y)",
            "|",
            "<b>",
            "</b>",
            "<!--",
            "-->",
            "<script>",
            "<?",
            "<https://x.y>",
            "<![CDATA[",
        ),
        *(
            "&lt;",
            "## user",
            "word",
            " ",
            "\r",
            "\r\n",
            "\x1b[31m",
            "\u202e",
            "\ud83d",
            "\u2028",
            "\x0b",
            "\x85",
            "你",
            "\0",
        ),
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join) | st.text(st.characters(exclude_categories=()), max_size=12)


def top_level(tokens: list[Token]) -> list[Token]:
    """The blocks of a document that stand in no other: their opening tokens."""
    return [token for token in tokens if token.level == 0 and token.nesting >= 0]


def html_in(tokens: list[Token]) -> list[str]:
    """What a reader's program would obey."""
    found = [token.content for token in tokens if token.type == "html_block"]
    return found + [child.content for token in tokens for child in token.children or () if child.type == "html_inline"]


def surrounded(block: str) -> list[Token]:
    """The blocks of a document in which `block` stands between two headings: without the headings."""
    tokens = PARSER.parse(f"# before\n\n{block}\n\n# after\n")
    found = top_level(tokens)
    assert [token.type for token in (found[0], found[-1])] == ["heading_open", "heading_open"]
    assert next(token.content for token in tokens if token.type == "inline") == "before"
    assert tokens[-2].content == "after"
    assert not html_in(tokens)
    inside = [token for token in found if token.type not in ("heading_open", "inline")]
    assert len(inside) == 1, block
    return inside


@given(TEXTS)
@example("```\n<script>\n```")
@example("- a\n  ```\n```\nx\n```\n<script>")
@example("`a` `\n<b> `")
@example("``` a`\n<b>\n```")
@example("~~~\n```\n~~~\n<b>")
@example("<pre>\n\n```\n<b>")
def test_what_is_said_stays_in_its_place_and_is_all_there(text: str) -> None:
    block = markdown.quoted(text)
    [token] = surrounded(block)
    if token.type == "fence":
        assert token.content == visible(text).replace("\0", "\ufffd") + "\n"
        return
    assert token.type == "blockquote_open"
    assert "\n".join(line[2:] for line in block.split("\n")) == visible(text)


@given(TEXTS)
def test_a_fence_holds_any_text(text: str) -> None:
    [token] = surrounded(markdown.fenced(text))
    assert (token.type, token.content) == ("fence", visible(text) + "\n")


@given(TEXTS.filter(lambda text: text.strip(" ")))
def test_a_name_is_one_code_span(text: str) -> None:
    tokens = PARSER.parse(f"*Tool* {markdown.code(text)}")
    [inline] = [token for token in tokens if token.type == "inline"]
    children = [child for child in inline.children or () if child.type == "code_inline"]
    assert [child.content for child in children] == [name(text)]


@given(TEXTS)
def test_a_title_is_a_heading_that_says_just_that(text: str) -> None:
    tokens = PARSER.parse(f"# {markdown.escaped(text)}\n\nmore")
    blocks = [token.type for token in top_level(tokens) if token.type != "inline"]
    assert blocks == ["heading_open", "paragraph_open"]
    inline = next(token for token in tokens if token.type == "inline")
    assert all(child.type in ("text", "text_special") for child in inline.children or ())
    assert "".join(child.content for child in inline.children or ()) == (one_line(text) or "-")


def test_ordinary_answers_are_quoted_as_they_are() -> None:
    for text in ("# A plan\n\n1. a < b\n2. `x`\n\n```html\n<b>bold</b>\n```\n<https://example.org>", "a\n\n b"):
        assert markdown.quoted(text) == "\n".join(f"> {line}" if line else ">" for line in text.split("\n"))
    assert markdown.quoted("a <b>c</b>") == "```text\na <b>c</b>\n```"


# ---- whole documents


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A conversation with every kind of part, a branch and a summary."""
    parts: list[dict[str, Any]] = [
        {"type": "step-start"},
        {"type": "reasoning", "text": "Where from?"},
        {"type": "tool-weather", "input": {"place": "Oslo"}, "output": "w" * 1_000},
        {"type": "dynamic-tool", "toolName": "map", "input": "```", "errorText": "no net"},
        {"type": "file", "mediaType": "image/png", "filename": "cat.png", "url": "data:image/png;base64,AAAA"},
        {"type": "file", "mediaType": "text/csv", "url": "https://example.org/a.csv"},
        {"type": "file"},
        {"type": "data-mood", "data": {"calm": True}},
        {"type": "text", "text": "## user\n\nIt rains."},
        {"type": "text", "text": "  "},
        {"type": "erased"},
    ]
    path = make_store(tmp_path / "s.db", messages=[message("q", "Weather?"), message("old", "Hm", "assistant")])
    with Sessions(path) as sessions:
        chat = sessions.session("chat")
        chat.append_message({"id": "a", "role": "assistant", "parts": parts}, parent_id="q")
        chat.append_messages([message("q2", "And then?"), message("a2", "Sun.", "assistant")])
        chat.set_metadata({"title": "Rain *or* shine"})
        chat.add_compaction("They spoke of rain.", "q", "a")
    return path


def lines(text: str) -> list[str]:
    return [re.sub(r"20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", "WHEN", line) for line in text.splitlines() if line]


def test_a_document_has_a_heading_for_each_message_of_the_path(store: Path) -> None:
    done = run("export", "chat", "--format", "markdown", "--db", store)
    assert (done.exit_code, done.stderr) == (0, "")
    assert lines(done.stdout) == [
        "# Rain \\*or\\* shine",
        "Session `chat`, last written WHEN.",
        "## user, WHEN",
        "> Weather?",
        "## assistant, WHEN",
        "*Thinking:*",
        "> Where from?",
        "*Tool* `weather`",
        "```text",
        '{"place":"Oslo"}',
        "```",
        "*Result:*",
        "```text",
        "w" * 400 + " ... (600 more characters)",
        "```",
        "*Tool* `map`",
        "````text",
        "```",
        "````",
        "*Error:*",
        "```text",
        "no net",
        "```",
        "*Image:* `cat.png`, `image/png`",
        "*File:* `text/csv`, `https://example.org/a.csv`",
        "*File:* without a name",
        "*Part* `data-mood`",
        "```text",
        '{"data":{"calm":true}}',
        "```",
        "> ## user",
        ">",
        "> It rains.",
        "*Erased: its content was not retained.*",
        "## user, WHEN",
        "> And then?",
        "## assistant, WHEN",
        "> Sun.",
    ]
    headings = [token for token in PARSER.parse(done.stdout) if token.type == "heading_open" and token.level == 0]
    assert [token.tag for token in headings] == ["h1", "h2", "h2", "h2", "h2"]


def test_another_path_summaries_and_several_sessions(store: Path, tmp_path: Path) -> None:
    other = lines(run("export", "chat", "--format", "markdown", "--leaf", "old", "--db", store).stdout)
    assert [line for line in other if line.startswith(">")] == ["> Weather?", "> Hm"]
    compacted = lines(run("export", "chat", "--format", "markdown", "--compacted", "--db", store).stdout)
    assert compacted[2:5] == ["## Summary, WHEN", "In the place of `q` to `a`.", "> They spoke of rain."]
    with Sessions(store) as sessions:
        sessions.session("empty").set_metadata({})
    out = tmp_path / "all.md"
    assert run("export", "--all", "--format", "markdown", "-o", out, "--db", store).stdout == ""
    assert [line for line in lines(out.read_text()) if line.startswith("# ")] == ["# Rain \\*or\\* shine", "# `empty`"]
    assert lines(out.read_text())[-1] == "No messages."


def test_a_message_with_the_id_of_a_summary_is_shown_as_what_it_is(store: Path) -> None:
    with Sessions(store) as sessions:
        chat = sessions.session("chat")
        [each] = chat.get_compactions()
        when = chat.info().created_at
        chat.import_message(message(f"compaction_{each.id}", "mine"), parent_id="a2", created_at=when)
        chat.select_leaf(f"compaction_{each.id}")
    shown = lines(run("export", "chat", "--format", "markdown", "--db", store).stdout)
    assert shown[-2:] == ["## user, WHEN", "> mine"]
