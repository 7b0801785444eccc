"""Sections of figure pages whose code says something else than when they were measured.

python benchmarks/stale.py [page ...]
"""

import json
import sys
from collections.abc import Iterator

from code_version import digest
from tables import kept, names, spec, stamps


def stale(page: str) -> Iterator[tuple[str, str]]:
    """Yield the sections of a page that are old or not measured, each with the reason."""
    for section in (part["name"] for part in spec(page)["sections"] if not kept(page, part)):
        stamp = stamps(page).get(section)
        if stamp is None:
            yield section, "not measured"
        elif not stamp["digest"]:
            yield section, f"measured before rows had digests, commit {stamp['commit'] or '?'}"
        elif digest(json.loads(stamp["modules"])) != stamp["digest"]:
            yield section, f"other code since commit {stamp['commit']}"


def main() -> None:
    """Print a line for each section that is stale, and how many there are."""
    pages = sys.argv[1:] or names()
    old = [(page, *found) for page in pages for found in stale(page)]
    for page, section, why in old:
        print(f"{page}, {section}: {why}")
    history = [bool(kept(page, part)) for page in pages for part in spec(page)["sections"]]
    print(f"{len(old)} of {len(history)} sections are old", end="; ")
    print(f"{sum(history)} kept, with their reasons on the pages")


if __name__ == "__main__":
    main()
