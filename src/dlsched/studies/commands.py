"""What to run on a cluster so that its scheduler prints a record that can be studied."""

from __future__ import annotations

from dlsched.errors import UnknownName

COMMANDS = {
    "slurm": (
        "TZ=UTC SLURM_TIME_FORMAT=standard sacct -a -X -P -D -S 2026-01-01 -E now "
        "-o JobID,User,Account,Partition,State,Submit,Eligible,Start,End,Elapsed,Timelimit,"
        "NodeList,ReqTRES,AllocTRES,JobName > sacct.txt"
    ),
    "nodes": 'sinfo -N -o "%N|%G|%P" > nodes.txt',
}
"""By scheduler: the command. The job's name is last, as a ``|`` in it is not escaped."""


def command_of(scheduler: str) -> str:
    """Return the command of a scheduler, or for its nodes.

    Raises
    ------
    UnknownName
        If none is known.
    """
    if scheduler not in COMMANDS:
        raise UnknownName("scheduler", scheduler, COMMANDS)
    return COMMANDS[scheduler]
