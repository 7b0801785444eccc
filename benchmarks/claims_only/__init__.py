"""What single claims of the papers are measured with; not installed, and no part of the library."""
