"""Times from this machine's GPU, from a harness, from a profiler, and the GPU's own ceilings."""
