"""Data only: architectures, devices, instructions, problems, verdicts, strategies, pitfalls."""
