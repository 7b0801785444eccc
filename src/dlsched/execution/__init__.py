"""What runs elsewhere or again: which code it is."""
