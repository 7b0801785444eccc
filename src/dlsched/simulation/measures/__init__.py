"""What a log says of a simulation: completion times, queueing, use of the GPUs."""
