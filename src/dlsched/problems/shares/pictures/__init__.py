"""Pictures of shares."""
