"""Job traces: reading, writing, generating and replaying them; the cluster at a moment of one."""
