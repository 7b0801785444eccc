"""The smallest drawn instance on which a property does not hold."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import strategies as st

from dlsched.display.text import framed
from dlsched.schema.envelope import Instance
from dlsched.testing.trials import Broken
from dlsched.text.rendering import Rendered, text


@dataclass(frozen=True, repr=False)
class Finding(Rendered):
    """A property that does not hold, with the smallest instance found on which it does not.

    ``instance`` is ``None`` for a property that is not about one instance.
    """

    kind: str
    message: str
    instance: Instance | None = None

    def __str__(self) -> str:
        """Return the finding with its instance as JSON."""
        text = f"{self.kind}: {self.message}"
        if self.instance is None:
            return text
        return f"{text}\n  {self.instance.model_dump_json(exclude_defaults=True)}"


class SearchReport(Rendered):
    """What a search found; true if it found nothing.

    Attributes
    ----------
    findings
        The properties that do not hold, each with its smallest instance.
    """

    findings: list[Finding]

    def __bool__(self) -> bool:
        """Whether every property holds."""
        return not self.findings

    def raise_if_any(self) -> None:
        """Raise if a property does not hold.

        Raises
        ------
        AssertionError
            With the report.
        """
        if self.findings:
            raise AssertionError(str(self))


@text.register(Finding)
@text.register(SearchReport)
def report_text(report: object) -> str:
    """Return the first lines of the report for people."""
    head, *rest = str(report).splitlines()
    return framed(head, rest)


def first_finding(
    check: Callable[[Any], None], instances: st.SearchStrategy[Any], examples: int
) -> Finding | None:
    """Return the first property that fails, on the smallest instance; ``None`` if none does.

    If a property fails in some calls only, shrinking is impossible: the first instance is returned.

    Parameters
    ----------
    check
        Raises `Broken` if a property does not hold for an instance.
    instances, examples
        What to draw from, and how many instances.
    """
    failed: list[Finding] = []

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        derandomize=True,
        database=None,
        report_multiple_bugs=False,
        print_blob=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(instances)
    def test(instance: Instance) -> None:
        try:
            check(instance)
        except Broken as broken:
            failed.append(Finding(broken.kind, broken.message, instance))
            raise

    try:
        test()
    except Broken:  # the last one raised is that of the shrunk instance
        return failed[-1]
    except hypothesis.errors.Flaky:
        if not failed:  # it is the strategy that differs from one time to the next
            raise
        first = failed[0]
        return Finding(first.kind, f"{first.message} (not every time)", first.instance)
    return None
