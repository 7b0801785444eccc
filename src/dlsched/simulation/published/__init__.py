"""Published variants: the event loops of the authors' own simulators, accidents included.

Each keeps time in seconds as floats and repeats the published order of floating-point operations,
so that the authors' printed figures come out. The log says ``clock = "float seconds"``.
"""
