"""Emulation of one thread block's integers: which instructions run, and which addresses they touch."""
