"""Hypothesis strategies for instances of every problem; they shrink to small readable examples."""

from dlsched.testing.strategies.elastic import elastic
from dlsched.testing.strategies.interleaving import interleaving
from dlsched.testing.strategies.placement import placement
from dlsched.testing.strategies.reclaiming import reclaiming
from dlsched.testing.strategies.sensitivity import sensitivity
from dlsched.testing.strategies.utility import utility

__all__ = ["elastic", "interleaving", "placement", "reclaiming", "sensitivity", "utility"]
