"""The extractor that serves while no model is configured: it writes only what a person says in so many words."""
