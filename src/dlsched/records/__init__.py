"""Job records: published traces, a scheduler's accounting, any table; what is read of them.

The module of a name is imported when the name is first used. Nothing here simulates: histories and
snapshots of a cluster stand with the simulator.
"""

from typing import TYPE_CHECKING

from dlsched.names import lazy

if TYPE_CHECKING:
    from dlsched.records.capacity import Capacity as Capacity
    from dlsched.records.job import TraceJob as TraceJob
    from dlsched.records.readers.columns import MAPPINGS as MAPPINGS
    from dlsched.records.readers.format import TraceFormat as TraceFormat
    from dlsched.records.readers.formats import FORMATS as FORMATS
    from dlsched.records.readers.values import parse_duration as parse_duration
    from dlsched.records.record import JobRecord as JobRecord
    from dlsched.records.record import read_record as read_record
    from dlsched.records.synthetic import synthesise as synthesise
    from dlsched.records.trace import Trace as Trace
    from dlsched.records.trace import read_trace as read_trace
    from dlsched.records.trace import write_trace as write_trace

_NAMES = {
    "capacity": "Capacity",
    "job": "TraceJob",
    "readers.columns": "MAPPINGS",
    "readers.format": "TraceFormat",
    "readers.formats": "FORMATS",
    "readers.values": "parse_duration",
    "record": "JobRecord read_record",
    "synthetic": "synthesise",
    "trace": "Trace read_trace write_trace",
}

__all__ = [name for names in _NAMES.values() for name in names.split()]
__getattr__, __dir__ = lazy(__name__, _NAMES)
