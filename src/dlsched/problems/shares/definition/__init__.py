"""The definition of shares."""
