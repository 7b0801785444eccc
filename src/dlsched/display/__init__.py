"""How objects show themselves: text, HTML, tables, charts, and what all pictures share."""
