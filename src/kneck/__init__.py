"""Why is this CUDA kernel slow, and what to do about it first."""

__version__ = "0.1.0"
