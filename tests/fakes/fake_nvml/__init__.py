"""``libnvidia-ml`` as a Python object, over anything with our ``Gpus`` port.

pynvml looks its C functions up by name on whatever stands in ``pynvml.nvmlLib``; a ``FakeLibrary`` stands
there and plays the library.
"""

from fake_nvml.mig import FakeLibrary

__all__ = ["FakeLibrary"]
