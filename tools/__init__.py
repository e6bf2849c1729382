"""What the Makefile calls before anything is installed: the standard library only, and no knowledge of Penstock."""
