"""The engines of the crash, race and rubbish tests, run for long: `python -m tests.soak`."""
