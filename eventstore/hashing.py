"""The hash of bodies and ids: `hashlib`'s own blake2b, without OpenSSL, which `hashlib` loads for the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

try:
    from _blake2 import blake2b
except ImportError:  # a Python built without it
    from hashlib import blake2b

__all__ = ["blake2b", "hash_each", "to_integers"]


def hash_each(new_hasher: Callable[[], Any], texts: Iterable[str]) -> list[bytes]:
    """The hash of each text, by a hasher of its own."""
    found = []
    for text in texts:
        hasher = new_hasher()
        hasher.update(text.encode())
        found.append(hasher.digest())
    return found


def to_integers(data: bytes) -> list[int]:
    """SQLite's signed integers, of eight bytes each."""
    from struct import unpack  # with the first batch

    return list(unpack(f">{len(data) // 8}q", data))
