"""Variants: a problem with a change, solved and checked like the problem itself."""

from dlsched.variants.definition import Level, Variant, variant
from dlsched.variants.owner import (
    VariantLike,
    VariantProblem,
    changed_problem,
    find_variant,
    owner_of,
    variant_of,
)

__all__ = [
    "Level",
    "Variant",
    "VariantLike",
    "VariantProblem",
    "changed_problem",
    "find_variant",
    "owner_of",
    "variant",
    "variant_of",
]
