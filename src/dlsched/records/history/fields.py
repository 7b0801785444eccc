"""The fields of a recorded job: one column each in `History.jobs`.

========= ================================ ==================================================
field     type                             meaning
========= ================================ ==================================================
id        text                             unique; a further run of an id is ``id#2``, ``id#3``
user      text or None                     who submitted it
account   text or None                     project or group that it was charged to
partition text or None                     partition or queue
gpus      int                              amount of the resource that it held, or asked for if
                                           it never started: GPUs, or CPUs, or nodes
gpu_type  text or None                     type of its GPUs, as ``a100``
submit    float                            when it was submitted
eligible  float or NaN                     when it could have started for the first time
start     float or NaN                     when it started; NaN if it never did
end       float or NaN                     when it ended; NaN if it still ran, or never started
state     text or None                     state by its first word, as ``COMPLETED``
limit     float or NaN                     its time limit in seconds; infinite if it has none
nodes     tuple of (text, int)             the nodes that it held, and how much on each; empty
                                           if they are not recorded
row       int                              its row in the file, the first row being 1
========= ================================ ==================================================

Moments are in seconds since 1970 in UTC. Where the record has no dates (SWF without
UnixStartTime), they count from the record's own origin.
"""

from __future__ import annotations

from typing import Final

TEXTS: Final = ("id", "user", "account", "partition", "gpu_type", "state")
MOMENTS: Final = ("submit", "eligible", "start", "end")
COLUMNS: Final = (
    "id",
    "user",
    "account",
    "partition",
    "gpus",
    "gpu_type",
    *MOMENTS,
    "state",
    "limit",
    "nodes",
    "row",
)
"""The columns of `History.jobs`, in this order."""
RESOURCES: Final = ("gpu", "cpu", "node")
"""What a job may be counted in."""
FORMATS: Final = ("sacct", "swf", "kueue", "csv")
"""The formats that `read_history` reads."""
