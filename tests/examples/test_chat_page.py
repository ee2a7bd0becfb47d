"""The chat's page in a real browser: it shows what the file holds, whoever writes, whatever breaks."""

from __future__ import annotations

from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import given, settings
from selenium import webdriver

from eventstore.testing import Write, writes
from tests.examples.browser import Page, Server, chromium, serving
from tests.examples.waiting import eventually, shows
from tests.unit.talk import ids, message


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    with chromium(tmp_path_factory.mktemp("profile")) as opened:
        yield opened


@pytest.fixture(scope="module")
def server(driver: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture
def chat(server: Server) -> Iterator[str]:
    """A new conversation's name. The model may say what it likes again when the test is over."""
    yield f"chat-{uuid4()}"
    server.gate.unlink(missing_ok=True)


@pytest.fixture
def page(driver: webdriver.Chrome, server: Server, chat: str) -> Page:
    return Page.open(driver, server, chat)


@pytest.fixture
def second(driver: webdriver.Chrome, server: Server, chat: str) -> Iterator[Page]:
    """Another page of the same conversation."""
    opened = Page.open_beside(driver, server, chat)
    yield opened
    opened.close()


def test_an_answer_is_seen_to_grow(page: Page, server: Server) -> None:
    server.gate.write_text("..")
    page.send("one two three")
    shows(page.texts, ["one two three", "one two"])
    server.gate.write_text("...")
    shows(page.texts, ["one two three", "one two three"])


def test_an_answer_is_stopped(page: Page, server: Server, chat: str) -> None:
    server.gate.write_text(".")
    page.send("one two three")
    shows(page.texts, ["one two three", "one"])
    page.click(-1, "stop")
    eventually(
        lambda: page.run("return [...document.querySelectorAll('.actions')].at(-1).textContent").startswith("Stopped")
    )
    with server.session(chat) as session:
        assert session.get_history()[-1]["parts"][0]["state"] == "aborted"


def test_all_pages_show_the_same_version(page: Page, second: Page) -> None:
    page.send("hello")
    shows(second.texts, ["hello", "hello"])
    second.click(-1, "again")
    for each in (page, second):
        shows(each.rows, [["hello", ""], ["hello", "2/2"]])
    page.click(-1, "earlier")
    for each in (page, second):
        shows(each.rows, [["hello", ""], ["hello", "1/2"]])
    second.click(-1, "later")
    shows(page.rows, [["hello", ""], ["hello", "2/2"]])


def test_what_another_process_writes_appears(page: Page, server: Server, chat: str) -> None:
    with server.session(chat) as session:
        session.append_messages([message("m/1", "A question"), message("m/2", "An answer")])
        shows(page.texts, ["A question", "An answer"])
        session.update_message(message("m/2", "A better answer"))
        shows(page.texts, ["A question", "A better answer"])
        session.append_message(message("m/3", "The best answer"), parent_id="m/1")
        shows(page.rows, [["A question", ""], ["The best answer", "2/2"]])
        page.click(-1, "earlier")
        shows(page.texts, ["A question", "A better answer"])
        session.delete_messages(["m/1"])
        shows(page.rows, [["A better answer", "1/2"]])
        session.clear_messages()
        shows(page.texts, [])


def test_older_messages_come_when_one_scrolls_up(page: Page, server: Server, chat: str) -> None:
    names = [f"m{number:02}" for number in range(60)]
    with server.session(chat) as session:
        session.append_messages([message(name, f"{name}\n" + "x\n" * 5) for name in names])
        shows(lambda: page.ids()[-1:], names[-1:])
        assert page.at_end()
        while not page.whole():
            first = page.ids()[0]
            before = page.place(first, scroll_to=0)
            eventually(lambda first=first: page.ids()[0] < first or page.whole())  # type: ignore[misc]
            assert page.place(first) == pytest.approx(before, abs=1.5), "what is read stays where it is"
        assert page.ids() == names
        assert page.run("return document.documentElement.scrollHeight <= innerHeight"), "only the conversation scrolls"

        before = page.place("m30", scroll_to=600)
        session.append_message(message("later", "Somebody writes while one reads"))
        shows(lambda: page.ids()[-1], "later")
        session.update_message(message("m00", "A row above\n" + "grows\n" * 30))
        eventually(lambda: page.texts()[0].startswith("A row above"))
        session.delete_messages(["m01"])
        shows(lambda: page.ids()[1], "m02")
        assert page.place("m30") == pytest.approx(before, abs=1.5)
        assert page.ids() == [*ids(session.get_history())]


def test_a_reload_in_the_middle_of_an_answer_loses_nothing(page: Page, server: Server) -> None:
    server.gate.write_text("..")
    page.send("one two three")
    shows(page.texts, ["one two three", "one two"])
    page.reload()
    shows(page.texts, ["one two three", "one two"])
    server.gate.write_text("...")
    shows(page.texts, ["one two three", "one two three"])


def test_a_page_that_one_comes_back_to_is_in_step(page: Page, server: Server, chat: str) -> None:
    with server.session(chat) as session:
        session.append_message(message("m1", "before"))
        shows(page.texts, ["before"])
        page.driver.get("about:blank")
        session.append_message(message("m2", "meanwhile"))
        page.driver.back()
        shows(page.texts, ["before", "meanwhile"])
        session.append_message(message("m3", "after"))
        shows(page.texts, ["before", "meanwhile", "after"])


def test_a_server_that_comes_back_finds_the_page_where_it_was(page: Page, server: Server, chat: str) -> None:
    server.gate.write_text("..")
    page.send("one two three")
    shows(page.texts, ["one two three", "one two"])
    page.run("document.querySelectorAll('#rows > li').forEach((row) => { row.kept = true; })")
    server.kill()
    eventually(lambda: not page.in_step())
    with server.session(chat) as session:
        session.append_messages([message(f"while {number}", str(number)) for number in range(3)])
    server.start()
    eventually(page.in_step)
    shows(page.texts, ["one two three", "one two", "0", "1", "2"])
    assert (
        page.run("return [...document.querySelectorAll('#rows > li')].map((row) => !!row.kept)")
        == [True] * 2 + [False] * 3
    )
    server.gate.unlink()
    page.send("again")
    shows(page.texts, ["one two three", "one two", "0", "1", "2", "again", "again"])


def test_a_page_starts_over_when_the_file_is_another(page: Page, server: Server, chat: str) -> None:
    with server.session(chat) as session:
        session.append_messages([message(f"m{number}") for number in range(5)])
    shows(lambda: len(page.ids()), 5)
    server.kill()
    for file in server.folder.glob("chat.db*"):
        file.unlink()
    server.start()
    shows(page.ids, [])
    eventually(page.in_step)
    page.send("hello")
    shows(page.texts, ["hello", "hello"])


def test_what_could_not_be_sent_is_sent_once(page: Page, server: Server, chat: str) -> None:
    server.kill()
    page.send("hello")
    eventually(lambda: "reached" in page.run("return document.getElementById('notice').textContent"))
    server.start()
    eventually(page.in_step)
    page.send("")
    shows(page.texts, ["hello", "hello"])
    with server.session(chat) as session:
        assert len(list(session.tree())) == 2


def test_the_end_stays_in_sight_when_there_is_less_room_for_it(page: Page, server: Server, chat: str) -> None:
    with server.session(chat) as session:
        session.append_messages([message(f"m{number}", "some words\n" * 5) for number in range(20)])
    shows(lambda: page.ids()[-1:], ["m19"])
    eventually(page.at_end)
    room = "return document.querySelector('main').clientHeight"
    before = page.run(room)
    page.run("document.getElementById('notice').textContent = 'a notice'")
    eventually(lambda: page.run(room) < before)
    eventually(page.at_end)
    read = page.place("m18", scroll_to=page.run("return document.querySelector('main').scrollTop - 200"))
    page.run("document.getElementById('notice').textContent = ''")
    eventually(lambda: page.run(room) == before)
    assert page.place("m18") == pytest.approx(read, abs=1.5)


def test_half_an_emoji_is_sent_and_shown(page: Page, server: Server, chat: str) -> None:
    page.run("document.getElementById('text').value = 'cut \\ud83d'")
    page.send("")
    shows(page.texts, ["cut \ufffd", "cut \ufffd"])
    with server.session(chat) as session:
        assert session.get_history()[0]["parts"][0]["text"] == "cut \ud83d"


def test_html_is_text(page: Page) -> None:
    text = "<img src=x onerror=alert(1)> <b>bold</b> &amp; <script>alert(2)</script>"
    page.send(text)
    shows(page.texts, [text, text])
    assert page.run("return document.querySelectorAll('#rows :is(img, b, script)').length") == 0


@given(history=writes())
@settings(max_examples=5)
def test_the_page_shows_the_history_whatever_is_written(
    driver: webdriver.Chrome, server: Server, history: list[Write]
) -> None:
    chat = f"drawn-{uuid4()}"
    page = Page.open(driver, server, chat)
    with server.session(chat) as session:
        for write in history:
            write.apply(session)
        session.append_message(message("the last"))
        eventually(lambda: "the last" in page.ids())

        def holds() -> bool:
            shown, expected = page.ids(), ids(session.get_history(compacted=False))
            assert shown == expected[-len(shown) :]
            assert len(shown) == len(expected) or not page.whole()
            return True

        eventually(holds)
