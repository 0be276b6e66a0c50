"""What a claim or a class says to this driver: the opaque configuration ``tangram.dev/v1alpha1``.

``decode`` reads it strictly, ``merge`` says which one counts for a device, ``device_rules`` and
``preparable`` say what a device and this version allow, ``check`` does all of it for one claim.
"""
