"""The fewest slots of Hadar's example (section II-A, Figure 1)."""

from claims_only.total_duration import total_duration

import dlsched


def test_smallest_total_duration() -> None:
    """Six slots are the fewest: the six rounds of Figure 1(a) are optimal, five impossible (P1)."""
    example = dlsched.load("hadar-section2")
    assert total_duration(example) == 6
    third = example.model_copy(update={"jobs": example.jobs[2:]})
    assert total_duration(third) == 5
    assert total_duration(example.model_copy(update={"slots": 5})) is None
