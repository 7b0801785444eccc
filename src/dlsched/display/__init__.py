"""How results and documents show themselves in a Python shell and in a notebook."""

from dlsched.display import html as html
from dlsched.display import text as text
