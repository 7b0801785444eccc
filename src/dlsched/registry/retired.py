"""Methods that are gone, and what to use instead; an entry is kept until 0.2."""

RETIRED: dict[tuple[str, str], str] = {
    ("dispatch", "aggregated"): "exact, or lp",
    ("dispatch", "clusters"): "classes",
    ("elastic", "completion_rates"): 'the policy lyra with elastic="completion_rates"',
    ("elastic", "prices"): "dp",
    ("placement", "milp"): "refinement",
    ("placement", "short_annealing"): "annealing",
    ("reclaiming", "scf_updated"): "scf",
    ("sensitivity", "balance"): "price_round",
    ("simulation", "antman"): "the authors' own, benchmarks/published of the repository",
    ("simulation", "forked"): "hadare",
    ("simulation", "hadare_copies"): "hadare",
    ("simulation", "list_order"): "backfill with order=priority, or srsf",
    ("utility", "fifo"): "srtf",
    ("utility", "hadar_committed"): "hadar",
    ("utility", "hadar_pooled"): "hadar",
    ("utility", "hadare_copies"): "hadare",
    ("variants", "search"): "exact",
    ("workers", "chosen_first"): "exact, or confined_first",
    ("workers", "first_fit"): "exact, or confined_first",
    ("workers", "per_server"): "milp",
}
"""By problem, ``simulation`` or ``variants``, and method or policy; a lookup says the value."""
