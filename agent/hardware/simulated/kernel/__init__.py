"""The interfaces to a simulated machine's kernel: files of sysfs that can be written, and rtnetlink."""
