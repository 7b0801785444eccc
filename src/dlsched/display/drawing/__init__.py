"""What all pictures share: widths and text sizes, colours, labels, legends, files."""
