"""Tests with several processes or threads on one store."""
