"""The hash of bodies and ids: `hashlib`'s own blake2b, without OpenSSL, which `hashlib` loads for the others."""

from __future__ import annotations

try:
    from _blake2 import blake2b
except ImportError:  # a Python built without it
    from hashlib import blake2b

__all__ = ["blake2b"]
