"""Other ways to ask the one core: annotated pods, and claims with the same annotations.

Pure, as all of the core: JSON values in, values out. Names of vendors are data that users write, so this
is the one room of the core that knows some.
"""
