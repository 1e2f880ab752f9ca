"""What everything else is built of: types, protocols, registry, errors, seeds."""
