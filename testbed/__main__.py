"""`python -m testbed` is the command `testbed`."""

from testbed.cli.main import command

command()
