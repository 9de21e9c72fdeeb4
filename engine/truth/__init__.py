"""Measured kernels as judges: what kneck says of each, against counters and measured gains."""
