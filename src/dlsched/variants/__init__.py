"""Variants: a problem with a change, solved and checked like the problem itself."""

from dlsched.variants.definition import Level, Variant, variant
from dlsched.variants.problem import VariantProblem, owner_of

__all__ = ["Level", "Variant", "VariantProblem", "owner_of", "variant"]
