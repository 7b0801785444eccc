"""What a log says of a simulation: completion times, queueing, latency, use of the GPUs."""
