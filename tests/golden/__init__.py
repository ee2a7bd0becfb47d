"""Files of every released format, opened by every later version."""
