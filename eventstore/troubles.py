"""What goes wrong where no caller can be told is logged, under the name `eventstore`.

`logging` is imported with the first of it: most processes never need it.
"""

from __future__ import annotations


def report(text: str, *values: object, exception: bool = False) -> None:
    """Logs an error, `exception` with the traceback of the one that is being handled."""
    import logging

    logging.getLogger("eventstore").error(text, *values, exc_info=exception, stacklevel=2)
