"""Resource classes: names for kinds of hardware, defined by selectors over the properties of devices.

Objects as JSON and events enter. The selected devices, the grants of pods and a status per class leave. A
class also compiles to a DeviceClass, so that claims can use it.
"""
