"""What a command's exit code says; 2, wrong usage, is click's own."""

DONE = 0
FAILED = 1
DIFFERENCES_FOUND = 3
