"""Tests of the text: what the pages show runs, what they link to is there, and every public name is described."""
