"""Documents as data frames and back: the layout from the fields, writing, reading."""
