"""SQL as values: builders return a Query or a Statement; nothing here holds a connection or commits."""
