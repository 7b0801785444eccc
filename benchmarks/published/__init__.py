"""The authors' public simulators, repeated to the digit, by policy.

    from published import simulate

Scripts in benchmarks/ import it so; it is not installed. Its loops need numba.
"""

from published.policies import MURI, PUBLISHED
from published.simulation import Simulation, simulate

__all__ = ["MURI", "PUBLISHED", "Simulation", "simulate"]
