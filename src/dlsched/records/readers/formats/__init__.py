"""The table of formats that are read, and which one a file is."""

import re
from pathlib import Path
from typing import Final

from dlsched.errors import InstanceError
from dlsched.records.readers.files import open_text
from dlsched.records.readers.format import TraceFormat, first_line
from dlsched.records.readers.formats import kueue, pai, philly, sacct, swf, tables

FORMATS: Final[dict[str, TraceFormat]] = {
    "sacct": sacct.FORMAT,
    "philly": philly.FORMAT,
    **tables.FORMATS,
    "pai": pai.FORMAT,
    "kueue": kueue.FORMAT,
    "swf": swf.FORMAT,
}
"""The formats that are read, by their names."""
MEMBERS: Final = tuple(name for layout in FORMATS.values() for name in layout.files)
OTHERS: Final = {
    "pai_": "pai_task_table.csv",
    "cluster_gpu_number": "cluster_log.csv",
    "cluster_machine_list": "cluster_job_log",
    "openb_node_list": "an openb_pod_list_*.csv",
}
"""How other files of the traces are called, and the file that has the jobs."""
LFS: Final = "version https://git-lfs"
HEAD: Final = 2**16
"""Characters by which a format is found out."""


def detect(path: Path, where: str) -> str | None:
    """Return the format of a file, by its beginning; None if it may be a table with other names."""
    with open_text(path, where, MEMBERS) as text:
        head = text.read(HEAD)
    line = first_line(head).strip()
    if not line:
        raise InstanceError(where, "row 1", "has no column names", "begin with a header row")
    if line.startswith(LFS):
        problem = "is a Git LFS pointer, not the file itself"
        raise InstanceError(where, "", problem, "fetch it: git lfs pull")
    found = [name for name, layout in FORMATS.items() if layout.recognises(head)]
    found = [
        name
        for name in found
        if not any(FORMATS[name].columns < FORMATS[other].columns for other in found)
    ]
    if len(found) > 1:
        known = " and ".join(found)
        problem = f"its header is that of {known}"
        raise InstanceError(where, "row 1", problem, f"name the format, one of {known} (--format)")
    if not found and re.match(r"[{[]|(apiVersion|kind|items)\s*:", line):
        raise _other_json(head, where)
    return found[0] if found else None


def _other_json(head: str, where: str) -> InstanceError:
    """Return the error that says what a file of JSON is."""
    kinds = [kind for kind in re.findall(r'\bkind"?\s*:\s*"?(\w+)', head) if kind != "List"]
    if kinds:
        return kueue.other_kind(kinds[0].removesuffix("List"), where)
    problem = "is JSON of another kind"
    if re.search(r'"(nb_res|profiles)"\s*:', head):
        problem = "is a workload of Batsim, which has no waits"
    return InstanceError(where, "", problem, kueue.JSON_READ)


def no_format(path: Path, where: str) -> InstanceError:
    """Return the error of a file whose format is not known."""
    with open_text(path, where, MEMBERS) as text:
        line = first_line(text.read(HEAD)).strip()
    beside = next((file for name, file in OTHERS.items() if path.name.startswith(name)), None)
    return InstanceError(
        where,
        "",
        f"is no job trace of a known format; it begins with {line[:80]!r}",
        f"read {beside} of the same trace"
        if beside
        else "name the columns: columns={'id': ..., 'gpus': ..., 'submit': ..., 'duration': ...} "
        f"(--column id=...), or the format, one of {', '.join(sorted(FORMATS))}",
    )


def in_folder(path: Path, where: str, layout: str) -> Path:
    """Return the one file of a folder that is a trace's."""
    wanted = FORMATS[layout].files if layout in FORMATS and FORMATS[layout].files else MEMBERS
    files = [p for p in path.iterdir() if p.is_file() and p.suffix != ".header"]
    candidates = sorted(p for p in files if p.name.startswith(wanted))
    unpacked = [p for p in candidates if not p.name.endswith(".gz")]
    candidates = unpacked or candidates  # published archives stay beside what was unpacked
    if len(candidates) != 1:
        some = ", ".join(p.name for p in candidates[:6])
        problem = (
            f"is a folder with {len(candidates)} traces: {some}" if candidates else "is a folder"
        )
        remedy = "name one of them" if candidates else f"name the file: {', '.join(wanted)}"
        raise InstanceError(where, "", problem, remedy)
    return candidates[0]
