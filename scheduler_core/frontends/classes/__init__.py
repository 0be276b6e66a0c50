"""Resource classes: names for kinds of hardware, defined by selectors over the properties of devices.

Takes objects as JSON and events. Returns the selected devices, the grants of pods and a status per class. A
class also compiles to a DeviceClass, so that claims can use it.
"""
