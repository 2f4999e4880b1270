"""The model: the only network exit (seed 004 ADR-10)."""
