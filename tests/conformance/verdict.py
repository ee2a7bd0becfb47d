"""The verdict on a recording: the same, different on purpose, or wrong."""

from __future__ import annotations

import enum
from pathlib import Path

import attrs

from tests.conformance.compare import differences
from tests.conformance.differences import DIFFERENCES
from tests.conformance.recording import Recording
from tests.conformance.runner import replay


class Kind(enum.Enum):
    SAME = "same"
    ON_PURPOSE = "differs on purpose"
    DIFFERS = "differs"
    LISTED_BUT_SAME = "listed as different, but the same"


@attrs.frozen
class Verdict:
    """`lines` say why: the reasons of a difference on purpose, or what is wrong."""

    kind: Kind
    lines: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        return self.kind in (Kind.SAME, Kind.ON_PURPOSE)


def judge(recording: Recording, folder: Path) -> Verdict:
    """Replay a recording on a new store in `folder` and hold it against the list of differences.

    A step that differs must be on the list, and a step on the list must differ.
    """
    reasons = DIFFERENCES.get(recording.name, {})
    listed = {number for steps in reasons.values() for number in steps}
    found = {
        step.number: [f"step {step.number}, {step.operation['op']}: {line}" for line in differences(step, observed)]
        for step, observed in replay(recording, folder)
    }
    wrong = [line for number, lines in found.items() for line in lines if number not in listed]
    if wrong:
        return Verdict(Kind.DIFFERS, tuple(wrong))
    if same := [number for number in sorted(listed) if not found.get(number)]:
        return Verdict(Kind.LISTED_BUT_SAME, tuple(f"step {number} is the same as recorded" for number in same))
    return Verdict(Kind.ON_PURPOSE, tuple(reasons)) if reasons else Verdict(Kind.SAME)
