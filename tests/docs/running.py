"""Blocks made to run, with what they claim in comments checked.

Two comments behind an expression that stands alone on its lines say what it does, and are held to it:

    chat.get_history()  # -> []
    chat.get_history(leaf_id="x")  # raises UnknownMessage

`# -> ` is followed by the value's repr, `# raises ` by the name of the error's class.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import eventstore
from eventstore import exchange
from tests.docs.pages import Block, Page

_CLAIM = re.compile(r"# (?:(->) (.+?)|raises (\w+))\s*$")
_MODULE = "a_page_of_the_docs"
_PUBLIC = {*eventstore.__all__, *exchange.__all__}


def check_value(value: object, expected: str, line: int) -> None:
    """Raises `AssertionError` unless `value` has this repr."""
    assert repr(value) == expected, f"line {line}: the page says {expected}, it is {value!r}"


def check_raises(work: Callable[[], object], expected: str, line: int) -> None:
    """Raises `AssertionError` unless `work` raises an error of the class with this name, or of one below it that
    isn't public."""
    error = _error_of(work)
    assert error is not None, f"line {line}: the page says that it raises {expected}, and it doesn't"
    names = [each.__name__ for each in type(error).__mro__]
    named = next((name for name in names if name in _PUBLIC), names[0])
    assert expected in (named, names[0]), f"line {line}: the page says {expected}, it raised {error!r}"


def _error_of(work: Callable[[], object]) -> Exception | None:
    try:
        work()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is held against the page
        return error
    return None


class _Claims(ast.NodeTransformer):
    """Turns expressions with a claim into calls of the checks."""

    def __init__(self, block: Block) -> None:
        self._lines = block.text.splitlines()
        self._offset = block.line - 1
        self.open = {number for number, line in enumerate(self._lines, 1) if _CLAIM.search(line)}

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        line = node.end_lineno or 0
        claim = _CLAIM.search(self._lines[line - 1])
        if claim is None:
            return node
        self.open.discard(line)
        if claim[1]:
            check, work, expected = "check_value", node.value, claim[2]
        else:
            nothing = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
            check, work, expected = "check_raises", ast.Lambda(nothing, node.value), claim[3]
        call = ast.Call(
            ast.Name(f"_{check}", ast.Load()), [work, ast.Constant(expected), ast.Constant(line + self._offset)], []
        )
        return ast.fix_missing_locations(ast.copy_location(ast.Expr(call), node))


def compile_block(page: Page, block: Block) -> Any:
    """A python block as code whose tracebacks name the page and its lines."""
    tree = ast.parse(block.text, page.name)
    claims = _Claims(block)
    tree = claims.visit(tree)
    if claims.open:
        raise AssertionError(f"{page.name}, line {min(claims.open) + block.line - 1}: a claim about no expression")
    ast.increment_lineno(tree, block.line - 1)
    return compile(tree, page.name, "exec", dont_inherit=True)


@contextmanager
def page_module(page: Page) -> Iterator[dict[str, Any]]:
    """The namespace that the blocks of a page share: a module's, since classes and state machines look theirs up."""
    module = ModuleType(_MODULE)
    vars(module).update(_check_value=check_value, _check_raises=check_raises)
    lines = page.text.splitlines(keepends=True)
    linecache.cache[page.name] = (len(page.text), None, lines, page.name)
    sys.modules[_MODULE] = module
    try:
        yield vars(module)
    finally:
        del sys.modules[_MODULE]
        del linecache.cache[page.name]
