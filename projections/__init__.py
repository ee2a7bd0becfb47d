"""Lists that follow a conversation store."""
