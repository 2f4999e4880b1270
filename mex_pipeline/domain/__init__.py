"""Pure rules and values: no I/O, no clock, no third-party import."""
