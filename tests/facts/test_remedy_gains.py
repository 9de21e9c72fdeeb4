"""The remedies whose gains are derived are those that change the work."""

from kneck.facts.remedies import REMEDIES
from kneck.facts.remedy_gains import REMEDY_NAMES


def test_every_remedy_has_its_gain() -> None:
    assert tuple(REMEDIES) == REMEDY_NAMES
