"""Times of a local clock in the night in which it is put back, and what Elapsed says against End.

A time of the repeated hour stands for two moments. Of the possible ones those are taken in which
the submission, the eligibility, the start and the end follow each other and the run is as long as
Elapsed says; submissions follow each other in the order of the jobs' numbers. A job that is still
open, since it began and ended within the hour, began when it was submitted or when another ended,
if that was in the same second for one of the two hours alone; else it counts as of the first.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

import numpy as np

from dlsched.records.readers.rows import MOMENTS, Rows
from dlsched.records.readers.values import Flags, Floats, counted

Choice = list[tuple[float, ...]]
"""The moments that a job may have had, in the order of `MOMENTS`."""
HOUR: Final = 3600
DAY: Final = 86400
_WEEK: Final = 7 * DAY
_SLACK: Final = 1.0
"""Seconds by which Elapsed may differ, as all times are rounded to whole ones."""


def resolve_repeated(raw: Rows) -> Iterator[str]:
    """Choose the moments of times that the clock showed twice; yield notes."""
    columns = raw.columns
    if not any(f"{moment}_later" in columns for moment in MOMENTS):
        return
    later = np.array([raw.get(f"{moment}_later") for moment in MOMENTS])
    ambiguous = (later > 0).any(axis=0)
    if not ambiguous.any():
        return
    _resolve_submissions(raw)
    open_jobs: dict[int, Choice] = {}
    for i in np.flatnonzero(ambiguous).tolist():
        fitting = _resolve_job(raw, i)
        if len(fitting) > 1:
            open_jobs[i] = fitting
    total = len(open_jobs)
    _resolve_by_others(raw, open_jobs)
    if total:
        yield (
            f"{counted(total, 'job')} with times of an hour that the clock showed twice: "
            f"{total - len(open_jobs):,} told apart by what ended in the same second, "
            f"{len(open_jobs):,} taken as of the first hour; export in UTC (TZ=UTC)"
        )


def _resolve_submissions(raw: Rows) -> None:
    """Decide by the jobs' numbers: in a night, from where the clock goes back on, it is later."""
    columns = raw.columns
    submit, later = columns["submit"], columns["submit_later"]
    known = np.flatnonzero((later > 0) & ~np.isnan(raw.get("order")))
    nights = (submit[known] // DAY).astype(int)
    for night in np.unique(nights):
        jobs = known[nights == night]
        jobs = jobs[np.argsort(columns["order"][jobs], kind="stable")]
        back = np.flatnonzero(np.diff(submit[jobs]) < 0)
        if len(back):
            second = jobs[back[0] + 1 :]
            submit[second] += later[second]
            later[jobs] = 0


def _resolve_job(raw: Rows, i: int) -> Choice:
    """Set the first possible moments of one job; return all that differ in more than a submission.

    A submission that nothing tells apart is that of the first hour, with the start and end that
    follow.
    """
    columns = raw.columns
    choices = []
    for moment in MOMENTS:
        first = columns[moment][i]
        shift = columns[f"{moment}_later"][i]
        choices.append((first, first + shift) if shift else (first,))
    elapsed = raw.get("elapsed")[i]
    fitting = [c for c in product(*choices) if _in_order(c) and _lasts(c[2], c[3], elapsed)]
    if fitting:
        _set(raw, i, fitting[0])
    distinct: dict[tuple[float, ...], tuple[float, ...]] = {}
    for one in fitting:
        distinct.setdefault((one[0], *one[2:]), one)
    return list(distinct.values())


def _set(raw: Rows, i: int, moments: tuple[float, ...]) -> None:
    for moment, value in zip(MOMENTS, moments, strict=True):
        raw.columns[moment][i] = value


def _resolve_by_others(raw: Rows, open_jobs: dict[int, Choice]) -> None:
    """Decide the open jobs whose start follows on another's end in one of the two hours alone."""
    closed = np.ones(raw.size, np.bool_)
    closed[list(open_jobs)] = False
    ends = set(raw.columns["end"][closed].tolist())
    found = True
    while found:
        found = False
        for i, choices in list(open_jobs.items()):
            starts = {c[2] for c in choices if c[2] in ends or c[2] in c[:2]}
            if len(starts) != 1:
                continue
            chosen = next(c for c in choices if c[2] in starts)
            if sum(c[2] in starts for c in choices) == 1:
                _set(raw, i, chosen)
                ends.add(chosen[3])
                del open_jobs[i]
                found = True


def _in_order(moments: tuple[float, ...]) -> bool:
    known = [moment for moment in moments if not np.isnan(moment)]
    return known == sorted(known)


def _lasts(start: float, end: float, elapsed: float) -> bool:
    return bool(np.isnan(start + end + elapsed) or abs(end - start - elapsed) <= _SLACK)


def apply_elapsed(raw: Rows, zone: ZoneInfo, zone_given: bool, local: bool) -> Iterator[str]:
    """Compare End - Start with Elapsed; yield notes.

    Elapsed counts if they differ by the hour by which a clock was changed during the run: that of
    the zone, or of any zone if none was given. Any other difference is none of the clock's.
    """
    columns = raw.columns
    start, end, elapsed = columns["start"], columns["end"], raw.get("elapsed")
    difference = end - start - elapsed
    suspended = np.nan_to_num(columns.get("suspended", np.zeros(1)))
    # What a suspension explains is no change of a clock.
    explained = (suspended > 0) & (np.abs(difference - suspended) <= _SLACK)
    by_hour = local & (np.abs(np.abs(difference) - HOUR) <= _SLACK) & ~explained
    if by_hour.any():
        off, by_hour = np.flatnonzero(by_hour), np.zeros(len(start), bool)
        for name in [zone.key] if zone_given else sorted(available_timezones()):
            clock = ZoneInfo(name)
            for i in off[_near_changes(clock, start[off], end[off])].tolist():
                run = start[i], end[i], round(difference[i] / HOUR) * HOUR
                by_hour[i] = by_hour[i] or _changed(*run, clock, zone_given)
    if by_hour.any():
        nights = _nights(raw, by_hour, zone)
        end[by_hour] = start[by_hour] + elapsed[by_hour]
        remedy = "" if zone_given else "; the times seem not to be in UTC: name their zone"
        yield (
            f"{counted(int(by_hour.sum()), 'job')} with End - Start an hour off Elapsed (most on "
            f"{nights}, daylight saving): Elapsed counts{remedy}"
        )
    longer = (difference > _SLACK) & ~by_hour
    if longer.any():
        yield (
            f"{counted(int(longer.sum()), 'job')} with End - Start longer than Elapsed, as of "
            "suspended jobs: End counts, since their nodes were kept"
        )
    shorter = (difference < -_SLACK) & ~by_hour
    if shorter.any():
        jobs = counted(int(shorter.sum()), "job")
        yield f"{jobs} with End - Start shorter than Elapsed: End counts"


def _near_changes(zone: ZoneInfo, start: Floats, end: Floats) -> Flags:
    """Return which runs are within two weeks of a change of a clock: few of many, if not none."""
    weeks = np.arange(start.min() - _WEEK, end.max() + 2 * _WEEK, _WEEK)
    ahead = [datetime.fromtimestamp(week, zone).utcoffset() for week in weeks.tolist()]
    changes = weeks[:-1][[before != after for before, after in pairwise(ahead)]]
    near: Flags = changes.searchsorted(end + _WEEK) > changes.searchsorted(start - 2 * _WEEK)
    return near


def _changed(start: float, end: float, change: int, zone: ZoneInfo, known: bool) -> bool:
    """Return whether a clock was changed by a number of seconds between two moments.

    If they were computed by this clock (`known`), it may have been another one that went by UTC, so
    that the change appears either way. Otherwise they are what the clock showed, in the first or
    the second of two equal hours.
    """
    offsets = []
    for moment in (start, end):
        time = datetime.fromtimestamp(moment, UTC)
        shown = [time.replace(tzinfo=zone, fold=fold) for fold in (0, 1)]
        clocks = [time.astimezone(zone)] if known else shown
        ahead = [clock.utcoffset() or timedelta() for clock in clocks]
        offsets.append([offset.total_seconds() for offset in ahead])
    changes = {after - before for before in offsets[0] for after in offsets[1]}
    return change in changes or (known and -change in changes)


def _nights(raw: Rows, where: Flags, zone: ZoneInfo) -> str:
    """Return the days on which most of some jobs ended."""
    ends = raw.columns["end"][where]
    days = Counter(datetime.fromtimestamp(end, UTC).astimezone(zone).date() for end in ends)
    return " and ".join(str(day) for day, _ in days.most_common(2))
