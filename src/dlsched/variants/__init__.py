"""Variants: a problem with a change, solved and checked like the problem itself."""

from dlsched.variants.problem import VariantProblem, owner_of
from dlsched.variants.variant import Level, Variant, variant

__all__ = ["Level", "Variant", "VariantProblem", "owner_of", "variant"]
