"""What the solution of a model says of the same model with more rows.

Its bounds hold there too, level by level, as long as the levels before are held at values that are
no worse. The bases of its relaxations are good ones to begin from: more rows leave them optimal
for the duals, so the dual simplex method needs few iterations.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from dlsched.results.objective import Bound
from dlsched.schema.quantities import Number
from dlsched.solvers.session import with_more_rows
from dlsched.solvers.standard_form import StandardForm


@dataclass
class Earlier:
    """What is known of a model from one lexicographic solution, which fills it.

    Attributes
    ----------
    shape
        Rows and columns of the model; ``None`` as long as nothing is known.
    bases
        By level, of the relaxations, whose rows are the model's, then those that hold levels.
    optima
        The values at which the levels were held.
    bounds
        By level, each while the levels before are held at `optima`.
    """

    shape: tuple[int, int] | None = None
    bases: dict[int, Any] = field(default_factory=dict)
    optima: Sequence[Number | float] = ()
    bounds: Sequence[Sequence[Bound]] = ()

    def bounds_of(self, form: StandardForm, optima: Sequence[Number | float]) -> list[Bound]:
        """Return the bounds of the next level of a model with more rows.

        `optima`: the values at which its first levels are held.
        """
        level = len(optima)
        if level >= len(self.bounds) or level > len(self.optima):
            return []
        pairs = zip(optima, self.optima, strict=False)
        signs = [form.sign(before) for before in range(level)]
        no_worse = all(s * (mine - here) <= 0 for s, (mine, here) in zip(signs, pairs, strict=True))
        return list(self.bounds[level]) if no_worse else []

    def basis_of(self, form: StandardForm, level: int) -> Any:
        """Return a basis of a level's relaxation with more rows after the model's."""
        basis = self.bases.get(level)
        if basis is None or self.shape is None or form.shape[1] != self.shape[1]:
            return None
        added = form.shape[0] - len(basis.row_status)
        return with_more_rows(basis, self.shape[0], added) if added >= 0 else None
