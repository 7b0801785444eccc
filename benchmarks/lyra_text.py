"""What benchmarks/figures/lyra_simulation.md says beside its tables."""

from __future__ import annotations

HEAD = ("",)
PARTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "table5": ("Table 5", ()),
    "optimum": ("What an optimum in the round saves, at a load of 0.82", ()),
    "busy": ("What an optimum in the round saves, at a load of 0.95", ()),
    "readings": ("Why the figures differ from the paper's: other rules, at a load of 0.95", ()),
    "table6": ("Table 6: placement without groups", ()),
    "table7": ("Table 7: the jobs that ran on loan", ()),
    "others": ("Loss, wrong estimates, checkpoints", ()),
    "figure10": ("Figure 10: reclaiming in the same states", ()),
    "fleet": ("The paper's servers", ()),
}
