"""The expression language of device selectors: CEL as Kubernetes 1.37 has it.

Text goes in, a function from a device to bool comes out. Plain comparisons are read by ``plain``, all else
by Google's parser and type checker (``environment``, ``frontend``, ``decode``); what it *means* is decided
here: ``compiler`` makes closures of the checked ``tree``, ``library`` holds the functions, ``cost`` says how
expensive an expression can become.
``scheduler_core.rules.selectors`` is the only door to this package.

Known differences from upstream, each with a test: expressions nested deeper than about 32 levels are
refused, protobuf messages cannot be built, time zones are offsets only; a quantity may be compared with a
sum of quantities on its right, where upstream fails. An expression that may cost more than the limit on
some device gets less than the limit on each: it never passed an API server.
"""
