"""Emulation of a block's integers: which instructions run, and which addresses they touch."""
