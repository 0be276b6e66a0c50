"""The expression language of device selectors: CEL as Kubernetes has it.

Text goes in, a function from a device to bool comes out. Google's parser and type checker read the text;
what it *means* is decided here. ``scheduler_core.selectors`` is the only door to this package.
"""
