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
gpu_type  text or None                     type of its GPUs, as ``a100``; ``a100|h100`` if it may
                                           have either, ``a100+v100`` if it held both
submit    float                            when it was submitted
eligible  float or NaN                     when it could have started for the first time
start     float or NaN                     when it started; NaN if it never did
end       float or NaN                     when it ended; NaN if it still ran, or never started
state     text or None                     state by its first word, as ``COMPLETED``
limit     float or NaN                     its time limit in seconds; infinite if it has none
nodes     tuple of (text, int)             the nodes that it held, and how much on each; empty
                                           if they are not recorded
row       int                              its row in the file, the first row being 1
cpus      float or NaN                     CPUs in total
memory    float or NaN                     GB of memory in total
features  text or None                     what it needs of its nodes, as ``ib&a100|h100``
qos       text or None                     its quality of service
priority  float or NaN                     its priority; what is high is the scheduler's to say
cluster   text or None                     the cluster that it ran on
========= ================================ ==================================================

Moments are in seconds since 1970 in UTC. Where the record has no dates (SWF without
UnixStartTime), they count from the record's own origin.
"""

from __future__ import annotations

from typing import Final

from dlsched.records.readers.rows import MOMENTS

COLUMNS: Final = (
    *("id", "user", "account", "partition", "gpus", "gpu_type", *MOMENTS, "state", "limit"),
    *("nodes", "row", "cpus", "memory", "features", "qos", "priority", "cluster"),
)
"""The columns of `History.jobs`, in this order."""
OTHERS: Final = ("id", "cpus", "start", "end", "nodes")
"""The columns of `History.others`; ``nodes`` are names there."""
