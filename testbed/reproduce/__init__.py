"""Papers taken at their word: each module runs one with `python -m testbed.reproduce.NAME`."""
