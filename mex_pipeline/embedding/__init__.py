"""The door to numpy and to the embedding model of the extra `semantic`; imported only when somebody asks for meaning."""
