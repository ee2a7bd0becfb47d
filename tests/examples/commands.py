"""The commands that the examples give for themselves."""

from __future__ import annotations

from types import ModuleType

from tests.docs.pages import ROOT


def command_of(module: ModuleType, program: str) -> list[str]:
    """The words of the line in a module's docstring that begins with a program. The how-to page gives the same."""
    lines = map(str.strip, (module.__doc__ or "").splitlines())
    command = next(line for line in lines if line.startswith(f"{program} "))
    assert f"\n{command}\n" in (ROOT / "docs" / "howto" / "chat-ui.md").read_text()
    return command.split()
