"""The table of published traces that are read as they are, and which one a file is."""

from __future__ import annotations

from pathlib import Path

from dlsched.errors import InstanceError
from dlsched.records.traces import acme, helios, openb, pai, philly
from dlsched.records.traces.columns import MAPPINGS, columns
from dlsched.records.traces.lines import open_text
from dlsched.records.traces.record import TraceFormat, has_columns

FORMATS: dict[str, TraceFormat] = {
    "philly": philly.FORMAT,
    "helios": helios.FORMAT,
    "acme": acme.FORMAT,
    "pai": pai.FORMAT,
    "openb": openb.FORMAT,
}
"""The readers of traces as they are published, by the name of the format."""
MEMBERS = tuple(name for layout in FORMATS.values() for name in layout.files)
OTHERS = {
    "pai_": "pai_task_table.csv",
    "cluster_gpu_number": "cluster_log.csv",
    "cluster_machine_list": "cluster_job_log",
    "openb_node_list": "an openb_pod_list_*.csv",
}
"""How other files of the traces are called, and the file that has the jobs."""
LFS = "version https://git-lfs"
_HEAD = 2**16


def format_names() -> list[str]:
    """Return the formats that `dlsched.records.read_trace` knows by name."""
    return sorted({*FORMATS, *MAPPINGS})


def detect(path: Path, where: str) -> str:
    """Return the format of a file, by its beginning.

    Raises
    ------
    InstanceError
        If it is none that is known.
    """
    with open_text(path, where, MEMBERS) as text:
        head = text.read(_HEAD)
    for name, layout in FORMATS.items():
        if layout.recognises(head):
            return name
    for name in MAPPINGS:
        if has_columns(head, *(column.name for column in columns(name))):
            return name
    line = head.removeprefix("\ufeff").lstrip().partition("\n")[0].strip()
    if not line:
        raise InstanceError(where, "row 1", "has no column names", "begin with a header row")
    if line.startswith(LFS):
        problem = "is a Git LFS pointer, not the file itself"
        raise InstanceError(where, "", problem, "fetch it: git lfs pull")
    beside = next((file for name, file in OTHERS.items() if path.name.startswith(name)), None)
    known = ", ".join(format_names())
    raise InstanceError(
        where,
        "",
        f"is no job trace of a known format; it begins with {line[:80]!r}",
        f"read {beside} of the same trace"
        if beside
        else "name the columns: mapping={'id': ..., 'gpus': ..., 'submit': ..., 'duration': ...} "
        f"(--column id=...), or the format, one of {known}",
    )


def in_folder(path: Path, where: str, layout: str) -> Path:
    """Return the one file of a folder that is a trace's.

    Raises
    ------
    InstanceError
        If there is none, or more than one.
    """
    wanted = MEMBERS if layout not in FORMATS else FORMATS[layout].files
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
