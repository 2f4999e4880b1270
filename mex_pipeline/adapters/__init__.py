"""Readers of session formats: each turns one agent's files into a Transcript."""
