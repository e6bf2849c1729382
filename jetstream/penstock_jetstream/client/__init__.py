"""What users call. Shells: they carry out what `core` decides, on a connection of `transport`."""
