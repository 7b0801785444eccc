"""What is simulated: jobs, their profiles, the cluster, and generators of all three."""
