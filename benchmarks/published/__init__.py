"""The authors' public simulators, repeated to the digit, by policy.

    from published import simulate

Scripts in benchmarks/ import it so; it is not installed. Its loops need numba, which the extra
``dev`` has. They are compiled at their first call, once on a machine, which takes half a minute.
"""

from published.policies import MURI, PUBLISHED
from published.simulation import Simulation, simulate

__all__ = ["MURI", "PUBLISHED", "Simulation", "simulate"]
