"""Secrets in what people and models say: found, and replaced by their kind (product F2)."""
