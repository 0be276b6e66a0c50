"""Reads NICs and VFs closely: from files of sysfs and procfs, and the embedded switch's mode by devlink."""
