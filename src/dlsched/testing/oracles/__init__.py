"""Brute force, straight from the definitions, for instances small enough to enumerate.

An oracle uses the checker and nothing else of a room: it is the third opinion beside the model and
the structured exact methods.
"""

from dlsched.testing.oracles.elastic import elastic
from dlsched.testing.oracles.interleaving import interleaving
from dlsched.testing.oracles.placement import placement
from dlsched.testing.oracles.reclaiming import reclaiming
from dlsched.testing.oracles.sensitivity import sensitivity
from dlsched.testing.oracles.utility import utility

__all__ = ["elastic", "interleaving", "placement", "reclaiming", "sensitivity", "utility"]
