"""How the packages are built: imports point one way, borders are kept, and modules and functions stay small.

Read from the sources with `ast`: nothing is imported here.
"""

from __future__ import annotations

import ast
import statistics
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

LAYERS: tuple[tuple[str, ...], ...] = (
    # values and words, which know nothing else
    ("errors", "types", "hints", "infos", "reports", "events", "clock", "seams", "troubles"),
    # pure: text and numbers in, text and numbers out
    (
        "hashing",
        "strict",
        "media",
        "codec",
        "deltas",
        "parts",
        "tokens",
        "prepare",
        "names",
        "words",
        "overlays",
        "prompt",
    ),
    # SQLite: the border, the file's tables, connections and transactions
    ("wal", "driver", "pages", "tokenizing", "schema", "locking", "forking", "opening", "readers", "aside", "database"),
    # the log, and what is folded from it
    (
        "log",
        "heads",
        "identities",
        "attachments",
        "bodies",
        "tree",
        "shape",
        "summaries",
        "linking",
        "fold",
        "texts",
        "index",
        "beside",
    ),
    # reads of one state
    (
        "messages",
        "paths",
        "segments",
        "totals",
        "history",
        "reads",
        "overviews",
        "replay",
        "listeners",
        "feed",
        "tailing",
    ),
    ("query", "forms", "snippets", "weighing"),
    # what the parts of one store share
    ("drafting", "store"),
    # one module for each thing that is done to it
    (
        "reading",
        "views",
        "writing",
        "appending",
        "updating",
        "deleting",
        "compacting",
        "summarizing",
        "compaction",
        "describing",
        "importing",
        "copying",
        "searching",
        "checking",
        "measuring",
        "pruning",
        "scavenging",
        "backup",
        "salvaging",
    ),
    # a log made from what is left of a damaged one
    ("remains", "vouching", "mending", "recovering"),
    # the public handles
    ("session", "sessions"),
    # the same calls for an event loop
    ("aio",),
    # the package's own names
    ("",),
    # what stands on them
    ("exchange", "testing"),
    ("cli",),
)
"""Modules of `eventstore`, lowest first. Imports point to the same layer or down; a package stands for all in it."""

ALLOWED_UP = {("eventstore.cli.demo", "projections")}
"""The demo shows a live list beside the tree: the one place where `eventstore` knows of `projections`."""

LONGEST_MODULE = 300
LONGEST_FUNCTION = 60
MOST_FUNCTIONS = 30  # nine of ten are no longer
MEDIAN_FUNCTION = 8


def sources(package: str) -> dict[str, Path]:
    """Module name -> file."""
    return {
        ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): file
        for file in sorted((ROOT / package).rglob("*.py"))
    }


OURS, PROJECTIONS = sources("eventstore"), sources("projections")
MODULES = OURS | PROJECTIONS


@cache
def parsed(module: str) -> ast.Module:
    return ast.parse(MODULES[module].read_text())


def only_for_types(tree: ast.Module) -> set[ast.AST]:
    """What stands under `if TYPE_CHECKING`: it imports nothing when it runs."""
    return {
        inner
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }


@cache
def imported(module: str) -> tuple[tuple[str, str], ...]:
    """(module, name) of everything that a module imports when it runs; the name is "" where a module is imported."""
    return tuple(_imported(module))


def _imported(module: str) -> Iterator[tuple[str, str]]:
    tree = parsed(module)
    skipped = only_for_types(tree)
    for node in ast.walk(tree):
        if node in skipped:
            continue
        if isinstance(node, ast.Import):
            yield from ((alias.name, "") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively"
            assert node.module is not None
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield (inner, "") if inner in MODULES else (node.module, alias.name)


def imports(module: str) -> set[str]:
    return {name for name, _ in imported(module)}


def layer(module: str) -> int:
    """The number of a module's layer. Fails for one that isn't declared."""
    _, _, inner = module.partition(".")
    for number, names in enumerate(LAYERS):
        if inner in names or inner.partition(".")[0] in names:
            return number
    raise AssertionError(f"{module} is in no layer: declare it in LAYERS, where it belongs")


@pytest.mark.parametrize("module", OURS)
def test_imports_point_down(module: str) -> None:
    for name in imports(module) & set(OURS):
        assert layer(name) <= layer(module), f"{module} imports {name}, which lies above it"


def test_every_declared_module_is_there() -> None:
    declared = [name for names in LAYERS for name in names]
    assert len(declared) == len(set(declared))
    assert {f"eventstore.{name}".rstrip(".") for name in declared} <= set(OURS)


def test_no_import_goes_in_a_circle() -> None:
    done: set[str] = set()

    def visit(module: str, path: tuple[str, ...]) -> None:
        assert module not in path, " -> ".join((*path, module))
        if module not in done:
            for name in imports(module) & set(MODULES):
                visit(name, (*path, module))
            done.add(module)

    for module in MODULES:
        visit(module, ())


def test_the_package_itself_waits_until_it_is_asked() -> None:
    """So `from eventstore import log` in a module of it begins no circle, whichever is imported first."""
    assert imports("eventstore") & set(MODULES) == {"eventstore.hints"}
    assert not imports("eventstore.hints") & set(MODULES)


def test_the_store_knows_nothing_of_projections() -> None:
    found = {
        (module, name.partition(".")[0])
        for module in OURS
        for name in imports(module)
        if name.partition(".")[0] == "projections"
    }
    assert found <= ALLOWED_UP


@pytest.mark.parametrize("module", PROJECTIONS)
def test_projections_know_public_names_only(module: str) -> None:
    public = {
        element.value
        for node in parsed("eventstore").body
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets)
        for element in getattr(node.value, "elts", ())
    }
    assert len(public) > 40
    for name, what in imported(module):
        if name.partition(".")[0] == "eventstore":
            assert name == "eventstore", f"{module} reaches into {name}"
            assert what in public, f"{module} imports {what}, which isn't public"


@pytest.mark.parametrize(
    ("library", "allowed"),
    [
        ("apsw", {f"eventstore.{name}" for name in ("driver", "wal", "tokenizing", "pages", "forking")}),
        ("blinker", {"eventstore.listeners", "eventstore.sessions", "eventstore.aio.sessions"}),
        ("trio", {"eventstore.aio.loops"}),
        ("orjson", {"eventstore.codec", "eventstore.strict", "eventstore.tokens", "eventstore.exchange"}),
        ("click", {"eventstore.cli"}),
        ("rich", {"eventstore.cli"}),
        ("hypothesis", {"eventstore.testing"}),
        ("sqlite3", set()),
    ],
)
def test_a_library_is_known_in_few_places(library: str, allowed: set[str]) -> None:
    for module in MODULES:
        if any(name.partition(".")[0] == library for name in imports(module)):
            assert any(module == place or module.startswith(f"{place}.") for place in allowed), f"{module}: {library}"


def test_the_package_imports_without_its_extras() -> None:
    """Whoever imports `eventstore` or `projections` needs neither click and rich nor hypothesis."""
    extras = ("eventstore.cli", "eventstore.testing")
    for module in MODULES:
        if not module.startswith(extras):
            assert not any(name.startswith(extras) for name in imports(module)), module


# ---- size


def functions(module: str) -> Iterator[tuple[str, int]]:
    """(name, lines of the body without its docstring) of every function."""
    for node in ast.walk(parsed(module)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            last = node.end_lineno or 0
            yield f"{module}.{node.name}", last - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("module", MODULES)
def test_a_module_is_one_question(module: str) -> None:
    lines = len(MODULES[module].read_text().splitlines())
    assert lines <= LONGEST_MODULE, f"{module} has {lines} lines: split it along its first natural noun"
    docstring = ast.get_docstring(parsed(module)) if lines else "empty"
    assert docstring, f"{module} doesn't say what it is"


def test_functions_are_small() -> None:
    sizes = [found for module in MODULES for found in functions(module)]
    too_long = [(name, size) for name, size in sizes if size > LONGEST_FUNCTION]
    assert too_long == []
    lengths = sorted(size for _, size in sizes)
    assert statistics.median(lengths) <= MEDIAN_FUNCTION
    assert lengths[len(lengths) * 9 // 10] <= MOST_FUNCTIONS


def test_every_write_is_ended() -> None:
    """A `Write` without its inner block is open to an interrupt as its `__exit__` begins."""
    for module, path in MODULES.items():
        for line in path.read_text().splitlines():
            assert not line.lstrip().startswith("with Write(") or line.endswith(" as write, write:"), (
                f"{module}: {line.strip()}"
            )
