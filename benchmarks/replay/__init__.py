"""Replays gold conversations through the real pipeline with a scripted model, and scores what it remembers."""
