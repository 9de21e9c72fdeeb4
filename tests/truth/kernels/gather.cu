// Random access: addresses from a hash (computed) and from an index array (data).

extern "C" __global__ void gather_hash(const float* __restrict__ in, float* __restrict__ out, int n,
                                       unsigned mask) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned h = i * 2654435761u;
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    out[i] = in[h & mask];
}

extern "C" __global__ void gather_index(const float* __restrict__ in, const int* __restrict__ index,
                                        float* __restrict__ out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[index[i]];
}
