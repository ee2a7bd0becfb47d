"""`python -m eventstore.cli`."""

from eventstore.cli import main

main()
