"""Settings of a store: what is refused, and the one that the file remembers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from eventstore import (
    InvalidArgument,
    Sessions,
)
from tests.unit.talk import message


@pytest.mark.parametrize(
    "options",
    [
        {"retain": "some"},
        {"retain": 1},
        {"durability": "none"},
        {"durability": None},
        {"busy_timeout": -1},
        {"busy_timeout": float("nan")},
        {"busy_timeout": "5"},
        {"busy_timeout": float("inf")},
        {"reserved_metadata_keys": "channel"},
        {"reserved_metadata_keys": b"channel"},
        {"reserved_metadata_keys": None},
        {"reserved_metadata_keys": ["channel", 5]},
        {"reserved_metadata_keys": [["channel"]]},
        {"read_only": True, "retain": "all"},
        {"count_tokens": None},
        {"count_tokens": 4},
        {"prepare": "strip"},
    ],
    ids=repr,
)
def test_settings_that_cannot_be_meant_are_refused(path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgument):
        Sessions(path, **options)
    assert not path.exists()


def test_the_file_remembers_its_retention(path: Path) -> None:
    def versions(**options: Any) -> list[str]:
        """The texts of a message's versions, each as a view in its time shows it."""
        with Sessions(path, **options) as sessions:
            session = sessions.session()
            first = sessions.latest_seq
            name = f"m{first}"
            session.append_message(message(name, "one"))
            for text in ("two", "three"):
                session.update_message(message(name, text))
            found = []
            for seq in range(first + 1, sessions.latest_seq + 1):
                with sessions.at(seq) as view:
                    part = (view.session().get_message(name) or message(name))["parts"][0]
                    found.append(part.get("text", part["type"]))
            return found

    current, everything_kept = ["erased", "erased", "three"], ["one", "two", "three"]
    assert versions() == current  # of a new file
    assert versions(retain="all") == everything_kept
    assert versions() == versions(retain=None) == everything_kept
    assert versions(retain="current") == current
    assert versions() == current
