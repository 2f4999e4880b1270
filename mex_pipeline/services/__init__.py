"""Use cases: they decide when, and they alone open transactions."""
