"""Papers worked through again: what they claim, and what comes out here."""
