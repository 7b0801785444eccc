"""Puts the modules of this folder, which tests of several problems use, on the path."""
