"""What is decided in a worker, pure: values and times in, decisions out. No I/O, no clock, no chance."""
