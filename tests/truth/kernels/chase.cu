// Each load needs the one before it.

extern "C" __global__ void chase_one(const unsigned* __restrict__ next, unsigned* __restrict__ out,
                                     unsigned mask, int steps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned at = (i * 40503u) & mask;
    for (int s = 0; s < steps; ++s) at = next[at];
    out[i] = at;
}

// Four chains per thread.
extern "C" __global__ void chase_four(const unsigned* __restrict__ next, unsigned* __restrict__ out,
                                      unsigned mask, int steps) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = (i * 40503u) & mask, b = (a + 1) & mask, c = (a + 2) & mask, d = (a + 3) & mask;
    for (int s = 0; s < steps / 4; ++s) {
        a = next[a];
        b = next[b];
        c = next[c];
        d = next[d];
    }
    out[i] = a ^ b ^ c ^ d;
}

// A chain in shared memory.
extern "C" __global__ void chase_shared(const unsigned* __restrict__ next, unsigned* __restrict__ out,
                                        int steps) {
    __shared__ unsigned line[1024];
    for (int j = threadIdx.x; j < 1024; j += blockDim.x) line[j] = next[j] & 1023;
    __syncthreads();
    unsigned at = threadIdx.x;
    for (int s = 0; s < steps; ++s) at = line[at];
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}
