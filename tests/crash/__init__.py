"""Processes that are killed, disks that fail, power that goes, files of rubbish: engines, and their bounded forms."""
