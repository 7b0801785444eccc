"""A cluster's own history: what a scheduler recorded, read, checked, explained and replayed."""
