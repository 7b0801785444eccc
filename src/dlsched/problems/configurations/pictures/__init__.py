"""Pictures of configurations."""
