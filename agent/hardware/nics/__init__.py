"""NICs and their VFs: read closely, and changed.

``ports.py`` has what other packages use. ``reading/`` implements the reader; ``functions.py``,
``vf_settings.py`` and ``interfaces.py`` implement the writers over two interfaces to the kernel
(``kernel.py``). The simulated machine implements these interfaces only, so everything above them is the same
on simulated and on real hardware.
"""
