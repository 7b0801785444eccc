"""Import what Pyomo needs for models, without what it imports and nothing here uses.

`pyomo.environ` is twice as much as `pyomo.core`: it loads the interfaces of all solvers, which
`PyomoBackend` alone needs. Where SciPy is loaded, Pyomo imports `scipy.stats`, `scipy.integrate`
and `scipy.spatial` at once, which took a third of the processor time of a first solve. Importing
this module does it.
"""

import importlib

from dlsched.solvers.left_out import left_out

UNUSED = ("scipy.stats", "scipy.integrate", "scipy.spatial")

with left_out(*UNUSED):
    importlib.import_module("pyomo.core")
