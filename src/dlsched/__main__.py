"""The command ``dlsched`` as a process: Ctrl-C while the library is imported is one line, too.

To import this module is to import next to nothing; the rest is imported in a function.
"""

import contextlib
import os
import signal
from importlib import import_module
from types import FrameType

_INTERRUPTED = 130
"""The exit status, as `dlsched.cli.exits.Exit` has it."""


def main() -> None:
    """Run the command line; the entry point ``dlsched``."""
    python_raises = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if python_raises:
        signal.signal(signal.SIGINT, _end)
    run = import_module("dlsched.cli").called()
    if python_raises:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    run()


def _end(number: int, frame: FrameType | None) -> None:
    """End the process: an exception might be caught, or shown, by a module that is imported."""
    with contextlib.suppress(OSError):
        os.write(2, b"error: interrupted\n")
    os._exit(_INTERRUPTED)


if __name__ == "__main__":
    main()
