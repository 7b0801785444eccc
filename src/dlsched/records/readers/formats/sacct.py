"""Slurm's accounting: what ``sacct -X -P`` prints, with any delimiter, or ``sacct --json``.

The columns are those of the man page of ``sacct``, section "Job Accounting Fields". A task of an
array, a component of a heterogeneous job and an earlier run of a requeued job (``-D``) are jobs of
their own; steps (``123.batch``) are skipped.
"""

import json
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from io import StringIO
from itertools import islice
from typing import Any, Final, NamedTuple

import numpy as np

from dlsched.errors import InstanceError
from dlsched.records.readers.amounts import Gpus, gpus_of, parse_amount, parse_gres, parse_tres
from dlsched.records.readers.columns import Column, parse_names
from dlsched.records.readers.files import lines, open_text
from dlsched.records.readers.filler import (
    Filler,
    Vectors,
    fill_gpus,
    gpu_vectors,
    known,
    vectors_of,
)
from dlsched.records.readers.format import Source, TraceFormat, first_line
from dlsched.records.readers.hosts import NO_NODES, Nodes, expand_hosts
from dlsched.records.readers.rows import MOMENTS, Rows, is_known
from dlsched.records.readers.table import CHUNK, Part
from dlsched.schema.flaws import brief

LONGEST: Final = 2**20
"""Characters of a row: lists of nodes and command lines are long."""
DELIMITERS: Final = ("|", "\t", ";", ",", "^", "~")
COMMAND: Final = (
    "TZ=UTC sacct -a -X -P -D -S now-30days -E now "
    "-o JobID,Cluster,User,Account,Partition,QOS,Priority,State,Submit,Eligible,Start,End,Elapsed,"
    "Suspended,Timelimit,NNodes,NCPUS,NodeList,Constraints,ReqTRES,AllocTRES,JobName"
)
"""What to run: times in UTC, one row per run, without truncation, the job's name last."""
NAMES: Final = ("user", "account", "partition", "cluster", "qos")
TITLES: Final = {
    **{"alloctres": "AllocTRES", "reqtres": "ReqTRES", "nodelist": "NodeList"},
    **{"jobid": "JobID", "timelimitraw": "TimelimitRaw", "elapsedraw": "ElapsedRaw"},
}
FIELDS: Final = {
    **{name: (name, None) for name in (*NAMES, "state", "priority", *MOMENTS)},
    **{"elapsedraw": ("duration", None), "elapsed": ("duration", None)},
    **{"timelimitraw": ("limit", "min"), "timelimit": ("limit", "min")},
    **{"suspended": ("suspended", None), "constraints": ("features", None)},
    "nodelist": ("nodes", None),
}
"""The field that a column holds, and the unit of a plain number."""
COUNTS: Final = {
    "cpu": ("alloccpus", "ncpus", "reqcpus"),
    "node": ("allocnodes", "nnodes", "reqnodes"),
}
"""Columns with a number of each resource, the first that has one above 0 counts."""
TRES: Final = ("alloctres", "reqtres")
GRES: Final = ("allocgres", "reqgres")
WANTED: Final = ("jobid", "jobidraw", *FIELDS, *TRES, *GRES, *COUNTS["cpu"], *COUNTS["node"])
"""The columns that are read, where they are there."""
JOB_ID: Final = re.compile(r"(\d{1,18})(_(\d{1,9}|\[[\d,:-]+(%\d{1,9})?\]))?(\+\d{1,9})?", re.ASCII)
"""The number, the task of an array or those not started (``_[5-9%2]``), and the component."""
_REMEDY: Final = f"export again: {COMMAND}"


def _title(column: str) -> str:
    return TITLES.get(column, column.capitalize())


class Layout(NamedTuple):
    """How the rows are divided: the columns in lower case, and what is between them.

    `trailing` is whether a delimiter ends every row, as with ``-p``.
    """

    names: tuple[str, ...]
    delimiter: str
    has_header: bool
    trailing: bool

    @property
    def open_ended(self) -> bool:
        """Whether further delimiters can only be part of the last column, the job's name."""
        return self.names[-1] == "jobname" and not self.trailing


def _is_header(line: str) -> bool:
    names = {name.lower() for name in re.findall(r"\w+", line)}
    return bool({"jobid", "jobidraw"} & names) and len(names & {*WANTED}) > 3


def recognises(head: str) -> bool:
    """Return whether the beginning of a file is a header of ``sacct``, or its JSON."""
    line = first_line(head)
    return _is_header(line) if line[:1] not in ("{", "[") else _is_json(head)


def _is_json(head: str) -> bool:
    return bool(re.search(r'"jobs"\s*:', head) and re.search(r'"(tres|data_parser|array)"', head))


def read(source: Source) -> Iterator[Rows]:
    """Yield the rows of a file."""
    source.fields |= {name: _title(name) for name in MOMENTS}
    source.fields |= {"id": "JobID", "gpus": source.resource}
    with open_text(source.path, source.where) as text:
        rows = lines(text, source.where, LONGEST)
        first = next(rows, "")
        if not first.strip():
            raise InstanceError(source.where, "row 1", "the file is empty", _REMEDY)
        if first.lstrip()[:1] == "{":
            yield _from_json(first + "".join(rows), source)
            return
        layout = find_layout(first.rstrip("\r\n"), source)
        reader = Reader(layout.names, source)
        row = 2 if layout.has_header else 1
        chunk = [] if layout.has_header else [first]
        size = source.first
        while chunk := chunk + list(islice(rows, size - len(chunk))):
            yield reader.rows(_split(layout, chunk, row))
            row += len(chunk)
            size, chunk = CHUNK, []
        if row <= 2 and layout.has_header:
            raise InstanceError(source.where, "row 2", "no job is left: there is no row", _REMEDY)


def find_layout(line: str, source: Source) -> Layout:
    """Return how the rows of a file are divided, from its first line."""
    where, delimiter = source.where, source.delimiter
    if delimiter is None and re.fullmatch(r"\s*JobID\s{2,}.*", line):
        raise InstanceError(where, "row 1", "its columns are padded with blanks", _REMEDY)
    if not _is_header(line):
        if source.names is None:
            problem = f"is no header of sacct: {line[:60]!r}"
            remedy = "name the columns in order: names=['jobid', ...] (--names jobid,...)"
            raise InstanceError(where, "row 1", problem, f"{remedy}; or {_REMEDY}")
        names = tuple(name.lower() for name in parse_names(source.names))
        count = len(names) - 1
        found = [d for d in DELIMITERS if line.count(d) >= count]
        mark = delimiter or next((d for d in found if line.count(d) == count), (found or "|")[0])
        has_header = False
    else:
        mark = delimiter or max(DELIMITERS, key=line.count)
        names = tuple(name.strip().lower() for name in line.split(mark))
        has_header = True
    trailing = line.endswith(mark) and (not has_header or names[-1] == "")
    names = names[:-1] if has_header and trailing else names
    trailing = trailing and line.count(mark) == len(names)
    some = ", ".join(names)
    for alternatives in (("jobid", "jobidraw"), ("submit",), ("start",), ("end",)):
        if not {*alternatives} & {*names}:
            problem = f"there is no column {alternatives[0]}"
            raise InstanceError(where, "row 1", problem, f"it has: {some:.200}; {_REMEDY}")
    for name in WANTED:
        if names.count(name) > 1:
            raise InstanceError(where, f"row 1, {name}", "is there twice", "keep one of the two")
    return Layout(names, mark, has_header, trailing)


def _split(layout: Layout, chunk: Sequence[str], row: int) -> Part:
    """Return the rows, with what is wrong with some of them."""
    import pandas as pd

    mark = layout.delimiter
    width = len(layout.names)
    expected = width - 1 + layout.trailing
    kept: list[str] = []
    rows: list[int] = []
    broken: dict[int, str] = {}
    one = mark if len(mark) == 1 else "\x1f"
    blank = one * expected
    for number, ended in enumerate(chunk, row):
        line = ended.rstrip("\r\n")
        count = line.count(mark)
        if count == expected:
            kept.append(line if one == mark else line.replace(mark, one))
        elif not line.strip():
            continue
        elif count > expected and layout.open_ended:
            *before, name = line.split(mark, width - 1)
            kept.append(one.join([*before, name.replace(mark, " ")]))
        else:
            remedy = "put JobName last" if count > expected else "is a line break in a name?"
            broken[len(kept)] = f"has {count + 1} fields, not {expected + 1}; {remedy}"
            kept.append(blank)
        rows.append(number)
    frame = pd.read_csv(
        StringIO("\n".join(kept)),
        sep=one,
        header=None,
        names=range(width + layout.trailing),
        usecols=[i for i, name in enumerate(layout.names) if name in WANTED],
        dtype=object,
        quoting=3,
        na_filter=False,
        engine="c",
        skip_blank_lines=False,
    )
    cells = {layout.names[int(i)]: frame[i] for i in frame.columns}
    return Part(np.array(rows, np.int64), cells, broken)


class Reader:
    """Reads one part of a file after another; distinct texts are read once for all of them."""

    def __init__(self, names: Collection[str], source: Source) -> None:
        self.columns = {name: _title(name) for name in names if name in FIELDS}
        columns = [Column(FIELDS[n][0], title, FIELDS[n][1]) for n, title in self.columns.items()]
        self.filler = Filler(source, columns, parsers={"nodes": _hosts, "state": _state})
        source.fields.pop("duration", None)  # which is End - Start
        resource = source.resource
        counts = [column for column in COUNTS.get(resource, ()) if column in names]
        # A column of its own comes before those of all resources, which may be cut off.
        self.amounts = [(column, known(_count)) for column in counts]
        self.tres = {c: known(parse_tres) for c in TRES if c in names}
        self.amounts += [(column, known(_of_tres(resource))) for column in self.tres]
        if resource == "gpu":
            self.amounts += [(c, known(parse_gres)) for c in GRES if c in names]

    def rows(self, part: Part) -> Rows:
        """Return some rows."""
        cells = part.cells
        titled = {title: cells[name] for name, title in self.columns.items()}
        rows = self.filler.rows(part._replace(cells=titled))
        self._fill_ids(rows, part)
        self._fill_amounts(rows, part)
        if "nodelist" in cells:
            none = cells["nodelist"].str.strip().str.lower() == "none assigned"
            rows.columns["unassigned"] = none.to_numpy(bool)
        return rows

    def _fill_ids(self, rows: Rows, part: Part) -> None:
        """Read the ids, and leave out the steps."""
        texts = part.cells["jobid" if "jobid" in part.cells else "jobidraw"].str.strip()
        ids = texts.to_numpy(object, copy=True)
        rows.columns["id"] = ids
        numbers = part.cells.get("jobidraw", texts)
        plain = numbers.str.isdecimal().to_numpy(bool) & (numbers.str.len() < 16).to_numpy(bool)
        order = np.where(plain, numbers.where(plain, "0").astype(float), np.nan)
        rows.columns["order"] = order
        steps = texts.str.contains(".", regex=False).to_numpy(bool)
        rows.refuse(steps, "JobID", "step", fault=False)
        for place in np.flatnonzero(~plain & ~steps & rows.usable).tolist():
            match = JOB_ID.fullmatch(ids[place])
            if match is None:
                shown = brief(ids[place])
                problem = f"{shown!r} is no job id of Slurm, as 123, 123_4 or 123_[5-9%2]"
                rows.refuse_row(place, "JobID", problem)
            elif np.isnan(order[place]):
                order[place] = int(match[1])

    def _fill_amounts(self, rows: Rows, part: Part) -> None:
        """Read the amounts of the resource, the GPUs' types, CPUs and memory.

        The first amount above 0 counts, and the first type that is known.
        """
        best = {name: vector.repeat(rows.size) for name, vector in gpu_vectors([None]).items()}
        for column, make in self.amounts:
            texts = part.cells[column]
            read = vectors_of(make, texts, gpu_vectors)
            bad = np.isnan(read["gpus"])
            rows.refuse(
                bad, _title(column), [f"{text!r:.60} cannot be read" for text in texts[bad]]
            )
            kind = np.where(is_known(best["gpu_type"]), best["gpu_type"], read["gpu_type"])
            better = ~(best["gpus"] > 0) & ~bad
            best = {name: np.where(better, read[name], best[name]) for name in best}
            best["gpu_type"] = kind
        fill_gpus(rows, best)
        for column, make in self.tres.items():
            amounts = vectors_of(make, part.cells[column], _others)
            for name, given in amounts.items():
                have = rows.get(name)
                rows.columns[name] = np.where((given > 0) & np.isnan(have), given, have)


def _others(made: Sequence[Any]) -> Vectors:
    """Return CPUs, and memory in GB."""
    units = {"cpus": ("cpu", 1), "memory": ("mem", 2**30)}
    return {
        name: np.array([float((amounts or {}).get(key, 0)) / unit for amounts in made])
        for name, (key, unit) in units.items()
    }


def _state(text: str) -> str | None:
    return text.partition(" ")[0].rstrip("+").upper() or None


def _of_tres(resource: str) -> Callable[[str], Gpus]:
    def parsed(text: str) -> Gpus:
        amounts = parse_tres(text)
        return gpus_of(amounts) if resource == "gpu" else Gpus(int(amounts.get(resource, 0)))

    return parsed


def _hosts(text: str) -> Nodes:
    return ((), ()) if text.lower() in NO_NODES else (expand_hosts(text), ())


def _count(text: str) -> Gpus:
    return Gpus(int(parse_amount(text)) if text else 0)


def _from_json(content: str, source: Source) -> Rows:
    """Return the jobs of ``sacct --json``."""
    import pandas as pd

    try:
        jobs = json.loads(content)["jobs"]
        table = [_json_row(job) for job in jobs]
    except (ValueError, RecursionError) as error:
        raise InstanceError(source.where, "", f"is no JSON ({error})", _REMEDY) from None
    except (AttributeError, KeyError, TypeError) as error:
        problem = f"is no JSON of sacct ({error!r:.80})"
        raise InstanceError(source.where, "jobs", problem, "run: sacct --json") from None
    if not table:
        raise InstanceError(source.where, "jobs", "no job is left: there is none", _REMEDY)
    cells = {name: pd.Series([row[name] for row in table], dtype=object) for name in table[0]}
    rows = Reader([*cells], source).rows(Part(np.arange(1, len(table) + 1), cells, {}))
    source.local = False
    return rows


def _json_row(job: dict[str, Any]) -> dict[str, str]:
    """Return a job of ``sacct --json`` by the columns of the text."""
    time, array, het = job["time"], job.get("array") or {}, job.get("het") or {}
    number = str(job["job_id"])
    task = _set(array.get("task_id"))
    if array.get("job_id") and task is not None:
        number = f"{array['job_id']}_{task}"
    elif _set(het.get("job_id")):
        number = f"{_set(het['job_id'])}+{_set(het.get('job_offset')) or 0}"
    state = job["state"]["current"]
    limit = time.get("limit")
    unlimited = isinstance(limit, dict) and limit.get("infinite")
    tres = job.get("tres") or {}
    return {
        "jobid": number,
        "jobidraw": str(job["job_id"]),
        **{name: str(job.get(name) or "") for name in NAMES},
        "state": state[0] if isinstance(state, list) else str(state),
        "priority": str(_set(job.get("priority")) or ""),
        "constraints": str(job.get("constraints") or ""),
        "submit": str(time["submission"] or ""),
        **{name: str(time.get(name) or "") for name in ("eligible", "start", "end")},
        "elapsed": str(time.get("elapsed", "")),
        "suspended": str(_set(time.get("suspended")) or ""),
        "timelimitraw": "UNLIMITED" if unlimited else str(_set(limit) or ""),
        "nodelist": str(job.get("nodes") or ""),
        "alloctres": _json_tres(tres.get("allocated")),
        "reqtres": _json_tres(tres.get("requested")),
    }


def _set(value: Any) -> Any:
    """Return a number that may be wrapped as {"set": true, "number": 7}; None if it is not set."""
    if isinstance(value, dict):
        return value.get("number", value.get("seconds")) if value.get("set", True) else None
    return value


def _json_tres(entries: Any) -> str:
    amounts: dict[str, int] = {}
    for entry in entries or ():
        name = "/".join(filter(None, (entry["type"], entry.get("name"))))
        amounts[name] = amounts.get(name, 0) + int(entry.get("count") or 0)
    # Memory is in MiB in JSON.
    return ",".join(f"{name}={n}{'M' if name == 'mem' else ''}" for name, n in amounts.items())


FORMAT = TraceFormat(
    title="sacct of Slurm, with -X -P or --json",
    recognises=recognises,
    read=read,
    slurm=True,
    record=True,
    cluster="the column Cluster",
)
