"""The small grammars of Slurm's records: host lists, resources, job ids."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dlsched import OptionError
from dlsched.records.history.hostlist import expand_hosts, fold_hosts
from dlsched.records.history.job_id import JobId, parse_job_id
from dlsched.records.history.tres import gpus_of, parse_amount, parse_gres, parse_tres

HOSTS = st.lists(st.from_regex(r"[a-z][a-z0-9-]{0,4}[0-9]{0,4}", fullmatch=True), max_size=12)
AMOUNTS = st.one_of(st.integers(0, 10**15), st.integers(0, 10**6).map(lambda n: n + Fraction(1, 4)))
NAMES = st.sampled_from(["cpu", "mem", "node", "gres/gpu", "gres/gpu:a100", "gres/gpumem"])
IDS = st.builds(
    lambda number, component, step: JobId(number, component=component, step=step),
    st.integers(0, 10**9),
    st.none() | st.integers(0, 99),
    st.none() | st.sampled_from(["batch", "extern", "0"]),
)
TASKS = st.lists(st.integers(0, 500), min_size=1, max_size=9, unique=True)
ARRAYS = st.one_of(
    st.builds(lambda n, t: JobId(n, (t,)), st.integers(0, 10**9), st.integers(0, 10**5)),
    st.builds(
        lambda n, t, m: JobId(n, tuple(t), True, m),
        st.integers(0, 10**9),
        TASKS,
        st.none() | st.integers(1, 50),
    ),
)


def spelled_id(job: JobId) -> str:
    """Return an id as Slurm writes it."""
    text = str(job.number)
    if job.tasks:
        listed = ",".join(map(str, job.tasks)) + ("" if job.most is None else f"%{job.most}")
        text += f"_[{listed}]" if job.is_open else f"_{listed}"
    text += "" if job.component is None else f"+{job.component}"
    return text + ("" if job.step is None else f".{job.step}")


@given(HOSTS)
def test_folded_hosts_expand_to_the_same(names: list[str]) -> None:
    """A list of hosts stands for the names that it was folded from, in their order."""
    assert list(expand_hosts(fold_hosts(names))) == names


@given(st.dictionaries(NAMES, AMOUNTS, max_size=6))
def test_resources_read_as_written(amounts: dict[str, int | Fraction]) -> None:
    """Resources are read as they were written."""
    text = ",".join(f"{n}={Decimal(a.numerator) / a.denominator}" for n, a in amounts.items())
    assert parse_tres(text) == amounts


@given(IDS | ARRAYS)
def test_job_ids_read_as_written(job: JobId) -> None:
    """A job's id is read as it was written."""
    assert parse_job_id(spelled_id(job)) == job


@given(st.text(alphabet="a[]-,1 0%", max_size=12))
def test_any_text_is_hosts_or_an_error(text: str) -> None:
    """Whatever stands in NodeList is read or refused, never anything else."""
    with suppress(OptionError):
        assert all(expand_hosts(text))


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a[01-02,05],b7", ["a01", "a02", "a05", "b7"]),
        ("r[1-2]n[09-10]", ["r1n09", "r1n10", "r2n09", "r2n10"]),
        ("cpn-f13-[03-04]-x", ["cpn-f13-03-x", "cpn-f13-04-x"]),
        ("", []),
    ],
)
def test_hosts_by_hand(text: str, names: list[str]) -> None:
    """Widths, several brackets and text behind them are kept."""
    assert list(expand_hosts(text)) == names


@pytest.mark.parametrize("text", ["a[1-", "a[2-1]", "a]", ",a", "a,", "a[]", "a[1-9999999]", "a b"])
def test_what_is_no_list_of_hosts(text: str) -> None:
    """What is no list of hosts is refused."""
    with pytest.raises(OptionError):
        expand_hosts(text)


@pytest.mark.parametrize(
    ("text", "count", "kind"),
    [
        ("cpu=1,gres/gpu=8", 8, None),
        ("gres/gpu:a100=8", 8, "a100"),
        ("gres/gpu:a100=8,gres/gpu=8", 8, "a100"),
        ("gres/gpu:a100=2,gres/gpu:v100=2", 4, "a100+v100"),
        ("gres/gpumem=8G,gres/gpuutil=5,gres/shard=2,gres/mig=1,cpu=2", 0, None),
    ],
)
def test_gpus_among_resources(text: str, count: int, kind: str | None) -> None:
    """With a type or without, the same GPUs count once; memory, shards and MIG are none."""
    assert gpus_of(parse_tres(text)) == (count, kind)


def test_amounts_have_letters() -> None:
    """K, M, G and T are 1,024 times the one before."""
    assert parse_amount("62.50G") == 62.5 * 2**30
    assert parse_amount("2K") == 2048
    with pytest.raises(OptionError):
        parse_amount("18446744073709551614.00Mn")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("gpu:a100:2", (2, "a100")),
        ("gpu:2", (2, None)),
        ("gpu:a100:2(IDX:0-1)", (2, "a100")),
        ("craynetwork:1", (0, None)),
    ],
)
def test_older_versions_print_gres(text: str, expected: tuple[int, str | None]) -> None:
    """AllocGRES names GPUs in its own way."""
    assert parse_gres(text) == expected
