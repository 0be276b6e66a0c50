"""The face: the ``tangram`` command. Shows and tries what the packages do; decides nothing itself."""
