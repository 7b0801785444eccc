"""The definition of configurations."""
