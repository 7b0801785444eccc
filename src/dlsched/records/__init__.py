"""Job records: published traces, a scheduler's accounting, any table; read, checked, replayed.

The module of a name is imported when the name is first used: the simulator stands on traces, and a
history on the simulator.
"""

from typing import TYPE_CHECKING

from dlsched.names import lazy

if TYPE_CHECKING:
    from dlsched.records.history.capacity import Capacity as Capacity
    from dlsched.records.history.explanation import Explanation as Explanation
    from dlsched.records.history.history import History as History
    from dlsched.records.history.period import Period as Period
    from dlsched.records.history.reader import read_history as read_history
    from dlsched.records.history.writer import swf_text as swf_text
    from dlsched.records.history.writer import write_swf as write_swf
    from dlsched.records.readers.columns import MAPPINGS as MAPPINGS
    from dlsched.records.readers.format import TraceFormat as TraceFormat
    from dlsched.records.readers.formats import FORMATS as FORMATS
    from dlsched.records.readers.values import parse_duration as parse_duration
    from dlsched.records.traces.job import TraceJob as TraceJob
    from dlsched.records.traces.reader import read_trace as read_trace
    from dlsched.records.traces.replay import Placement as Placement
    from dlsched.records.traces.replay import Replay as Replay
    from dlsched.records.traces.replay import replay as replay
    from dlsched.records.traces.snapshot import Snapshot as Snapshot
    from dlsched.records.traces.snapshot import pool as pool
    from dlsched.records.traces.snapshot import queue as queue
    from dlsched.records.traces.snapshot import snapshot as snapshot
    from dlsched.records.traces.synthetic import synthesise as synthesise
    from dlsched.records.traces.trace import Trace as Trace
    from dlsched.records.traces.writer import write_trace as write_trace

_NAMES = {
    "history.capacity": "Capacity",
    "history.explanation": "Explanation",
    "history.history": "History",
    "history.period": "Period",
    "history.reader": "read_history",
    "history.writer": "swf_text write_swf",
    "readers.columns": "MAPPINGS",
    "readers.values": "parse_duration",
    "readers.formats": "FORMATS",
    "traces.job": "TraceJob",
    "traces.reader": "read_trace",
    "readers.format": "TraceFormat",
    "traces.replay": "Placement Replay replay",
    "traces.snapshot": "Snapshot pool queue snapshot",
    "traces.synthetic": "synthesise",
    "traces.trace": "Trace",
    "traces.writer": "write_trace",
}

__all__ = [name for names in _NAMES.values() for name in names.split()]
__getattr__, __dir__ = lazy(__name__, _NAMES)
