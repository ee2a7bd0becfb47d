"""What the store costs, each figure beside a floor that was measured in the same run. See README.md."""
