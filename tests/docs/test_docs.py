"""Every page, run and checked.

The python blocks of a page share one namespace and run in order in a fresh working folder, which holds a small
ChatGPT export, `conversations.json`. Blocks of `sh` that begin with `eventstore` run the command there, in between; a
`text` block behind one is what it prints. Links must resolve, and the reference must describe what the packages
export, with the signatures and fields that they have.
"""

from __future__ import annotations

import codeop
import inspect
import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import click
import pytest
from click.testing import CliRunner
from hypothesis import settings

import eventstore
import eventstore.exchange
import eventstore.testing
import projections
from eventstore import EventStoreError, Session, Sessions, StoreView
from eventstore.cli.app import app
from tests.docs.model_server import serving
from tests.docs.pages import ROOT, Block, Page, all_pages, read_page, reference
from tests.docs.running import compile_block, page_module

PAGES = all_pages()
EXPORT = ROOT / "tests" / "exchange" / "samples" / "three-conversations.json"
PLACEHOLDER = re.compile(r"\b[A-Z]{2,}\b")

by_page = pytest.mark.parametrize("page", PAGES, ids=[page.name for page in PAGES])


@pytest.fixture(scope="module")
def model_server() -> Iterator[str]:
    """Where the pages' model answers."""
    with serving() as address:
        yield address


@pytest.fixture
def working_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model_server: str) -> Path:
    """A fresh folder to work in, with the export that the pages speak of."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("EVENTSTORE_DB", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("OPENAI_BASE_URL", model_server)
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    shutil.copy(EXPORT, "conversations.json")
    return tmp_path


@pytest.fixture
def few_examples() -> Iterator[None]:
    """The pages' property tests are there to be read: a few examples show that they run."""
    before = settings.get_current_profile_name()
    settings.register_profile("docs", settings.get_profile(before), max_examples=8, stateful_step_count=8)
    settings.load_profile("docs")
    yield
    settings.load_profile(before)


# ---- blocks


@by_page
@pytest.mark.usefixtures("working_folder", "few_examples")
def test_blocks_run(page: Page) -> None:
    """What a page shows runs, and what it claims in comments is so."""
    blocks = page.blocks()
    with page_module(page) as namespace:
        for number, block in enumerate(blocks):
            if block.kind == "python":
                exec(compile_block(page, block), namespace)
            elif block.kind == "sh" and block.text.startswith("eventstore"):
                printed = run_commands(page, block)
                following = blocks[number + 1] if number + 1 < len(blocks) else None
                if following is not None and following.kind == "text":
                    assert as_shown(printed) == as_shown(following.text), f"{page.name}, line {following.line}"


def run_commands(page: Page, block: Block) -> str:
    """Runs the lines of a block and gives what they print. A line with a placeholder in capitals asks for its help."""
    printed = ""
    for number, line in enumerate(block.text.splitlines(), block.line):
        command, *words = shlex.split(line, comments=True)
        assert command == "eventstore", f"{page.name}, line {number}: a block of commands runs `eventstore` only"
        if PLACEHOLDER.search(line.partition("#")[0]):
            words = [words[0], "--help"]
        done = CliRunner().invoke(app, words, prog_name="eventstore")
        assert done.exit_code == 0, f"{page.name}, line {number}: {done.output}"
        printed += done.stdout
    return printed


def as_shown(text: str) -> list[str]:
    """Lines without the spaces at their ends, and without empty lines around them."""
    return [line.rstrip() for line in text.strip("\n").splitlines()]


def test_the_tutorial_can_be_typed() -> None:
    """Into a Python session, line by line: there an empty line ends what is indented, and a line that isn't indented
    before that is an error."""
    for block in read_page(ROOT / "docs" / "tutorial.md").blocks():
        if block.kind == "python":
            assert not_typed(block.text) == [], f"docs/tutorial.md, line {block.line}"


def not_typed(text: str) -> list[str]:
    """What a Python session refuses or leaves unfinished of a text whose lines are typed, with an empty one behind."""
    refused: list[str] = []
    typed: list[str] = []
    for line in [*text.splitlines(), ""]:
        typed.append(line)
        try:
            if codeop.compile_command("\n".join(typed)) is not None:
                typed = []
        except SyntaxError:
            refused.append("\n".join(typed))
            typed = []
    return [*refused, "\n".join(typed)] if typed else refused


@by_page
def test_blocks_are_of_a_known_kind(page: Page) -> None:
    for block in page.blocks():
        where = f"{page.name}, line {block.line}"
        assert block.kind in ("python", "python notest", "sh", "text", "json"), f"{where}: {block.kind!r}"
        if block.kind == "python notest":
            assert "not run" in block.above, f"{where}: the line above must say why it is not run"


@by_page
def test_links_resolve(page: Page) -> None:
    for line, target in page.links():
        file, _, anchor = target.partition("#")
        path = (page.path.parent / file).resolve() if file else page.path
        assert path.exists(), f"{page.name}, line {line}: {target} leads nowhere"
        if anchor:
            assert anchor in read_page(path).anchors(), f"{page.name}, line {line}: no heading {target}"


def test_every_page_is_in_the_index() -> None:
    index = ROOT / "docs" / "README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve() for _, target in read_page(index).links()}
    pages = {path.resolve() for path in (ROOT / "docs").rglob("*.md")} - {index.resolve()}
    assert pages <= linked, sorted(path.name for path in pages - linked)


# ---- the reference


def sections() -> dict[str, str]:
    """Every section of the reference by its heading. No heading may come twice for what the tests look up."""
    return {heading: text for page in reference().values() for heading, text in page.sections().items()}


def exported(module: Any) -> list[str]:
    """The public names of a package."""
    return list(module.__all__)


@pytest.mark.parametrize(
    "module", [eventstore, projections, eventstore.exchange, eventstore.testing], ids=lambda module: module.__name__
)
def test_every_public_name_is_described(module: Any) -> None:
    text = "\n".join(page.text for page in reference().values())
    missing = [name for name in exported(module) if not re.search(rf"`{name}\b|^#+ `?{name}\b", text, re.MULTILINE)]
    assert not missing


@pytest.mark.parametrize(
    ("owner", "page"),
    [(Sessions, "sessions"), (Session, "session"), (StoreView, "sessions")],
    ids=lambda each: str(each),
)
def test_every_public_method_is_described(owner: type, page: str) -> None:
    """Under a heading of its own, with its signature as it is."""
    described = reference()[page].sections()
    for name in public_methods(owner):
        heading = f"StoreView.{name}" if owner is StoreView else name
        assert heading in described, f"{page}.md lacks the heading {heading}"
        shown = re.search(r"```text\n(.*?)```", described[heading], re.DOTALL)
        assert shown, f"{page}.md: {heading} lacks its signature"
        assert one_line(shown[1]) == signature(owner, name)


def public_methods(owner: type) -> list[str]:
    """Public functions and properties of a class, inherited ones too. What a view offers its sessions isn't public."""
    inside = {"position", "read_session"} if owner is StoreView else set()
    return [name for name in dir(owner) if not name.startswith("_") and name not in inside]


def signature(owner: type, name: str) -> str:
    """`name(arguments) -> result` as the reference shows it: arguments with their defaults, the type of the result."""
    attribute = inspect.getattr_static(owner, name)
    if isinstance(attribute, property):
        return f"{name} -> {inspect.get_annotations(attribute.fget)['return']}"  # type: ignore[arg-type]
    found = inspect.signature(attribute)
    result = found.return_annotation
    if hasattr(attribute, "__wrapped__"):  # a generator that `contextmanager` wraps
        result = result.replace("Iterator", "AbstractContextManager")
    return f"{name}({arguments(attribute)}) -> {result.replace('hints.', '')}"


def arguments(function: Any) -> str:
    """The arguments of a method and their defaults."""
    found = inspect.signature(function)
    shown = [each.replace(annotation=inspect.Parameter.empty) for each in found.parameters.values()][1:]
    text = str(found.replace(parameters=shown, return_annotation=inspect.Signature.empty))
    return re.sub(r"<function (\w+) at \w+>", r"\1", text).strip("()").replace("'", '"')


def test_the_constructor_is_described() -> None:
    shown = re.search(r"```text\n(.*?)```", reference()["sessions"].sections()["Sessions"], re.DOTALL)
    assert shown
    assert one_line(shown[1]) == f"Sessions({arguments(Sessions.__init__)})"


def one_line(text: str) -> str:
    """A signature without its line breaks."""
    return " ".join(text.split()).replace("( ", "(").replace(" )", ")")


def test_every_error_is_described() -> None:
    described = reference()["errors"].sections()
    errors = [
        name
        for name in exported(eventstore)
        if inspect.isclass(found := getattr(eventstore, name)) and issubclass(found, EventStoreError)
    ]
    assert len(errors) > 10
    assert not [name for name in errors if name not in described]


@pytest.mark.parametrize("name", [name for name in exported(eventstore) if attrs.has(getattr(eventstore, name))])
def test_every_field_is_described(name: str) -> None:
    """Of results and events, in the section of their class."""
    fields = {field.name for field in attrs.fields(getattr(eventstore, name))}
    if name != "Event":
        fields -= {field.name for field in attrs.fields(eventstore.Event)} if "recorded_at" in fields else set()
    text = sections()[name]
    assert not {field for field in fields if f"`{field}`" not in text}


def test_every_command_is_described() -> None:
    described = reference()["command"].sections()
    names = app.list_commands(click.Context(app))
    assert not [name for name in names if f"eventstore {name} --help" not in described.get(name, "")]


# ---- the checks themselves


@pytest.mark.parametrize(
    "code",
    [
        "assert 1 == 2",
        "1 + 1  # -> 3",
        "int('1')  # raises ValueError",
        "int('one')  # raises KeyError",
        "def f():\n    [][0]  # -> 1\nf()",
        "with open(os.devnull) as file:\n    file.closed  # -> True",
        "x = 1  # -> 1",
        "no_such_name",
    ],
)
def test_a_false_claim_fails(code: str) -> None:
    page = Page(ROOT / "page.md", f"```python\nimport os\n{code}\n```\n")
    with page_module(page) as namespace, pytest.raises((AssertionError, IndexError, ValueError, NameError)):
        exec(compile_block(page, page.blocks()[0]), namespace)


def test_what_is_true_passes() -> None:
    text = "```python\n(\n    [1]\n)  # -> [1]\nint('x')  # raises ValueError\nx = 2  # two\n```\n"
    page = Page(ROOT / "page.md", text)
    with page_module(page) as namespace:
        exec(compile_block(page, page.blocks()[0]), namespace)
        assert namespace["x"] == 2


def test_what_cannot_be_typed_is_found() -> None:
    assert not_typed("for x in ():\n    x\ny\n") == ["for x in ():\n    x\ny"]
    assert not_typed("def f():\n    pass\n\nf(\n    1)\n") == []
    assert not_typed("f(\n") == ["f(\n"]


def test_pages_are_taken_apart() -> None:
    text = "# A `b` c\n\n[x](y.md#z) [w](https://w)\n```text\n# no heading [no](link)\n```\n## A b c\nmore\n"
    page = Page(ROOT / "page.md", text)
    assert page.headings() == ["A b c", "A b c"]
    assert page.links() == [(3, "y.md#z")]
    assert page.anchors() == {"a-b-c", "a-b-c-1"}
    assert [(block.kind, block.line) for block in page.blocks()] == [("text", 5)]
