"""The form for proofs of shares."""
