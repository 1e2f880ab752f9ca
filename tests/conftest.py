"""For all tests: an interruption arrives, however the suite was started."""

import signal

# A shell starts what runs in its background deaf to Ctrl-C, and children inherit that: the tests
# that interrupt a run would wait for ever.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
