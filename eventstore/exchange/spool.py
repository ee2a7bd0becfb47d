"""Values that are put aside while a file is read, and taken up again later: in a temporary file once they are many.

So one list may hold more messages than memory. The file has no name, and is gone with the spool.
"""

from __future__ import annotations

import pickle
import tempfile
import weakref
from array import array
from typing import Any, Final

IN_MEMORY: Final = 1 << 22
"""Bytes that a spool keeps without a file."""


class Spool:
    """A list that is only added to. What it holds is pickled: a value that comes back is a copy."""

    def __init__(self) -> None:
        self._file = tempfile.SpooledTemporaryFile(IN_MEMORY, prefix="eventstore-")  # noqa: SIM115 - closed below
        self._ends = array("q", [0])
        self._at_end = True
        weakref.finalize(self, self._file.close)

    def __len__(self) -> int:
        return len(self._ends) - 1

    def append(self, value: Any) -> None:
        """Adds a value that pickle knows."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        if not self._at_end:
            self._file.seek(self._ends[-1])
            self._at_end = True
        self._file.write(data)
        self._ends.append(self._ends[-1] + len(data))

    def __getitem__(self, at: int) -> Any:
        """The value that was added as the `at`-th, from 0."""
        self._at_end = False
        self._file.seek(self._ends[at])
        return pickle.loads(self._file.read(self._ends[at + 1] - self._ends[at]))  # noqa: S301 - our own, in a file without a name
