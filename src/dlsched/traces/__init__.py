"""Job traces: reading, writing, generating and replaying them; the cluster at a moment of one."""

from dlsched.traces.columns import MAPPINGS
from dlsched.traces.duration import parse_duration
from dlsched.traces.formats import FORMATS
from dlsched.traces.job import TraceJob
from dlsched.traces.reader import read_trace
from dlsched.traces.record import TraceFormat
from dlsched.traces.replay import Placement, Replay, replay
from dlsched.traces.snapshot import Snapshot, pool, queue, snapshot
from dlsched.traces.synthetic import synthesise
from dlsched.traces.trace import Trace
from dlsched.traces.writer import write_trace

__all__ = [
    "FORMATS",
    "MAPPINGS",
    "Placement",
    "Replay",
    "Snapshot",
    "Trace",
    "TraceFormat",
    "TraceJob",
    "parse_duration",
    "pool",
    "queue",
    "read_trace",
    "replay",
    "snapshot",
    "synthesise",
    "write_trace",
]
