"""Resource classes: plain names for kinds of hardware, by what devices tell of themselves.

Pure: objects as JSON says them and events come in, selections, a grant and a status per class go out.
A class also compiles to a DeviceClass, so that claims can use it.
"""
