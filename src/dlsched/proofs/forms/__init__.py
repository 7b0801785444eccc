"""Forms: linear programs in integers, derived from instances; what proofs are about."""
