"""Settings of all tests: hypothesis's budgets, and the environment of what they start.

`dev` (the default) keeps failing examples in `.hypothesis/` and tries them first; `ci` (chosen by the variable `CI`)
draws the same examples each time, so that what fails there is the change, and prints how to reproduce a failure.
`HYPOTHESIS_PROFILE` chooses another: `thorough`, for a night.

Compiled modules are kept, whatever the environment says: hundreds of processes are started, and each would compile the
packages anew. What collecting the tests made is kept from the garbage collector: it lasts as long as the process does,
and each full collection, and each fork, would go through all of it.

Files lie in memory where Linux offers it and nothing else is asked for by `TMPDIR` or `--basetemp`: a new store is
synced a few times, which is most of the time of a small test, and no test sees whether a disk has it. (The tests of
power cuts have disks of their own.)
"""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Real files and fsyncs take what they take: no deadline for one example, and no check that drawing is quick.
_SLOW = (HealthCheck.too_slow, HealthCheck.data_too_large)

settings.register_profile("dev", deadline=None, max_examples=25, stateful_step_count=20, suppress_health_check=_SLOW)
settings.register_profile("ci", settings.get_profile("dev"), database=None, print_blob=True, derandomize=True)
settings.register_profile("thorough", settings.get_profile("dev"), max_examples=2_000, stateful_step_count=60)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background: what is started would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

IN_MEMORY = Path("/dev/shm")
ENOUGH = 2 * 1024**3  # bytes that must be free there
if "TMPDIR" not in os.environ and os.access(IN_MEMORY, os.W_OK) and shutil.disk_usage(IN_MEMORY).free > ENOUGH:
    os.environ["TMPDIR"] = tempfile.tempdir = str(IN_MEMORY)  # pytest has asked for the folder before

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # of the workers too: they are started after this


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: tests wait for disks, for other processes and for clocks."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    gc.collect()
    gc.freeze()
