"""What a method claims, what it was found to be, and how it is summed up."""
