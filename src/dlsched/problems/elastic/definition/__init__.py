"""What the problem is: schema, check by the definition, brute force."""
