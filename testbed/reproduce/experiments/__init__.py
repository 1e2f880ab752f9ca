"""One file a paper: what is run for `testbed reproduce`, its tables and its charts."""
