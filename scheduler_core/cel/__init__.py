"""The expression language of device selectors: CEL as Kubernetes 1.37 has it.

A text goes in, a function from a device to bool comes out. ``plain`` reads plain comparisons; Google's parser
and type checker read all other texts (``text``, ``environment``, ``frontend``, ``decode``). The meaning is
decided here: ``compiler`` makes closures of the checked ``tree``, ``library`` holds the functions, ``work``
bounds what an evaluation may do. ``cost`` and ``measured`` say what an expression costs upstream.
Other packages import ``scheduler_core.rules.selectors`` only.

Known differences from upstream, each with a test: expressions nested deeper than about 32 levels are
refused, protobuf messages cannot be built, lists and maps cannot be keys of a map; a quantity may be compared
with a sum of quantities on its right, and an error in an argument of ``sort`` or ``distinct`` may be
absorbed, where upstream fails. An evaluation ends at a bound of work, where upstream may go on for minutes.
"""
