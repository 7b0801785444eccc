"""What every test may rely on."""

import contextlib
import functools
import gc
import os
import random
import signal
import sys
from pathlib import Path

import pytest
import typer.testing

import dlsched

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # those of small matrices only wait, busily
os.environ["MPLBACKEND"] = "agg"  # pictures are drawn without a screen
os.environ.pop("COLUMNS", None)  # tables are as wide as in a pipe, whatever terminal this is
# The usual 700, 10, 10 take a twentieth of the time, in a process with all modules loaded.
gc.set_threshold(10_000, 20, 20)
# A process builds its parser once, which takes longer than most commands: so do tests in one.
typer.testing._get_command = functools.cache(typer.testing._get_command)

# Started in the background, a shell's child ignores Ctrl-C, and tests of it would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def workdir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give an empty folder as the working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def pytest_runtest_teardown() -> None:
    """A test's figures are closed after it: matplotlib warns of the twenty-first."""
    if (pyplot := sys.modules.get("matplotlib.pyplot")) is not None:
        pyplot.close("all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what shows whether tests depend on the number of threads or on their order."""
    parser.addoption("--threads", type=int, help="the default of threads= in this process")
    parser.addoption("--order", type=int, metavar="SEED", help="run the tests in a drawn order")


def _draw_no_constants_of_the_code() -> None:
    """Keep Hypothesis from reading all loaded modules for constants: 4 s in each process at first.

    What a test draws then depends on no module that others have loaded. The slow tests draw them.
    """
    with contextlib.suppress(ImportError):  # older versions read none
        from hypothesis.internal.conjecture import providers

        providers._get_local_constants = lambda: providers._local_constants


def pytest_configure(config: pytest.Config) -> None:
    """Give every call of `dlsched.solve` without threads= the option's number."""
    if "not slow" not in config.getoption("markexpr").replace("slow or not slow", ""):
        os.environ["DLSCHED_ALL_DRAWS"] = "1"  # property tests draw all of their examples
    else:
        _draw_no_constants_of_the_code()
    threads = config.getoption("--threads")
    if threads:
        dlsched.solve.__kwdefaults__["threads"] = threads


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Draw an order of the tests; those of a module stay together, for its fixtures."""
    seed = config.getoption("--order")
    if seed is not None:
        rng = random.Random(seed)
        rank = {module: rng.random() for module in dict.fromkeys(item.path for item in items)}
        rng.shuffle(items)
        items.sort(key=lambda item: rank[item.path])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """With ``-n auto``, one worker more than cores, as some tests wait for other processes."""
    return (os.cpu_count() or 1) + 1
