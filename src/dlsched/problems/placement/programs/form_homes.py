"""Homes of tables and regions of jobs as rows in fractions: the part of the form that is linear."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from dlsched.problems.placement.definition.schema import Instance
from dlsched.problems.placement.programs.coefficients import Shares
from dlsched.proofs.forms.draft import Draft
from dlsched.schema import Number


class Homes:
    """Columns and rows of placements, and their traffic.

    Attributes
    ----------
    home
        By table and region: the column that says whether it is the table's home.
    runs
        By group of jobs and region: whether the group runs there.
    near
        By group whose jobs run where most of its tables are, and by table: by region at most
        whether both are there.
    costs
        Of columns, none negative, so that the cost is not negative either when they are rounded.
    """

    def __init__(self, instance: Instance) -> None:
        self.instance = instance
        self.shares = Shares(instance)
        self.draft = Draft()
        self.places = range(len(instance.regions))
        self.home = [self._choice() for _ in instance.tables]
        for row in self.home:
            self.draft.equal(dict.fromkeys(row, 1), 1)
        self.costs: dict[int, Fraction] = {}
        self.near: dict[int, dict[int, list[int]]] = {}
        self.runs = [self._group(g) for g in range(len(self.shares.groups))]
        self._limits()

    def load(self, parts: Mapping[int, Fraction], r: int) -> dict[int, Fraction]:
        """Return the sum of the parts of those groups that run in a region."""
        return {self.runs[g][r]: part for g, part in parts.items()}

    def _choice(self) -> list[int]:
        return [self.draft.column(1, integer=True) for _ in self.places]

    def _group(self, g: int) -> list[int]:
        """Return a group's columns, with the rows that tie them to the homes of its tables."""
        tables = self.shares.groups[g].tables
        runs = self.home[tables[0]] if len(tables) == 1 else self._choice()
        if not self.shares.groups[g].together:
            self._majority(g, runs)
            return runs
        if len(tables) > 1:
            self._away(runs, sum(self.shares.read[g].values(), Fraction(0)))
            for r in self.places:
                homes = [self.home[t][r] for t in tables]
                for home in homes:
                    self.draft.at_most({runs[r]: 1, home: -1}, 0)
                self.draft.at_most(dict.fromkeys(homes, 1) | {runs[r]: -1}, len(tables) - 1)
        return runs

    def _away(self, near: list[int], read: Fraction) -> None:
        """Charge what is read unless one of some columns, by region, is 1."""
        away = self.draft.column(1)
        self.draft.equal(dict.fromkeys([*near, away], 1), 1)
        self.costs[away] = Fraction(self.instance.weights.traffic) * read

    def _majority(self, g: int, runs: list[int]) -> None:
        """State that a group runs where most of its tables are, ties to the earlier region."""
        tables = self.shares.groups[g].tables
        draft = self.draft
        count = len(tables)
        last = len(self.places) - 1
        draft.equal(dict.fromkeys(runs, 1), 1)
        near = {t: [draft.column(1) for _ in self.places] for t in tables}
        self.near[g] = near
        for t, columns in near.items():
            self._away(columns, self.shares.read[g][t])
            for r, column in enumerate(columns):
                draft.at_most({column: 1, self.home[t][r]: -1}, 0)
                draft.at_most({column: 1, runs[r]: -1}, 0)
        for r in self.places:
            homes = dict.fromkeys((self.home[t][r] for t in tables), 1)
            least = 1  # with fewer of its tables than this, the region cannot win
            while least + r * (least - 1) + (last - r) * least < count:
                least += 1
            draft.at_least(homes | {runs[r]: -least}, 0)
            nearby = dict.fromkeys((near[t][r] for t in tables), 1)
            draft.at_least(nearby | {runs[r]: -least}, 0)
            for q in self.places:
                if q != r:
                    tie = int(q < r)
                    others = dict.fromkeys((self.home[t][q] for t in tables), 1)
                    ahead = others | dict.fromkeys(homes, -1)
                    draft.at_most(ahead | {runs[r]: count + tie}, count)

    def _limits(self) -> None:
        """State (4), (5), (6) and the move quota, in shares."""
        instance = self.instance
        shares = self.shares
        size = [table.size for table in instance.tables]
        for r, region in enumerate(instance.regions):
            stored = {row[r]: b for row, b in zip(self.home, size, strict=True)}
            self._limit(stored, region.storage_capacity)
            for app, quota in region.cpu_quota.items():
                hours = shares.cpu_hours(app)
                self._limit({runs[r]: h for runs, h in zip(self.runs, hours, strict=True)}, quota)
        if instance.move_quota is not None:
            moved = {
                row[r]: table.size
                for row, table in zip(self.home, instance.tables, strict=True)
                for r, region in enumerate(instance.regions)
                if table.home not in (None, region.id)
            }
            self._limit(moved, instance.move_quota)
        needed = Fraction(instance.at_home_threshold)
        if needed:
            # An amount above what is needed is as good as this.
            parts = {
                runs[r]: min(Fraction(1), shares.hours_at_home(g, r) / needed)
                for g, runs in enumerate(self.runs)
                for r in self.places
            }
            self.draft.at_least(parts, 1)

    def _limit(self, amounts: Mapping[int, Number], limit: Number) -> None:
        """State that the amounts of the columns that are 1 are within a limit."""
        total = sum(amounts.values())
        if total > limit:
            row = {j: Fraction(v) / total for j, v in amounts.items()}
            self.draft.at_most(row, Fraction(limit) / total)
