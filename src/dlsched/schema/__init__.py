"""What the schema of a problem is written with: documents, fields, exact numbers, flaws.

A problem's package derives its own ``Instance`` and ``Solution`` from the two classes here. What
only dlsched itself needs is in the modules of this package.
"""

from dlsched.schema.document import Document, FrozenDict, derived
from dlsched.schema.envelope import Instance
from dlsched.schema.fields import Amount, Count, Id, PositiveAmount, PositiveCount, SignedAmount
from dlsched.schema.flaws import Flaw, brief, dangling, require_unique
from dlsched.schema.quantities import Number, exact, granularity, shown, simplify, whole
from dlsched.schema.solution import Solution

__all__ = [
    "Amount",
    "Count",
    "Document",
    "Flaw",
    "FrozenDict",
    "Id",
    "Instance",
    "Number",
    "PositiveAmount",
    "PositiveCount",
    "SignedAmount",
    "Solution",
    "brief",
    "dangling",
    "derived",
    "exact",
    "granularity",
    "require_unique",
    "shown",
    "simplify",
    "whole",
]
