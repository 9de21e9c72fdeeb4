"""`kneck scan`: every kernel of libraries, objects and folders, in a pool of processes."""
