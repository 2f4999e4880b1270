"""The worker process: what runs alongside the agent sessions."""
