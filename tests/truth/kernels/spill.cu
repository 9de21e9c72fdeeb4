// More live values than registers.

template <int kValues>
__device__ __forceinline__ void mix(const float* in, float* out, int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float v[kValues];
#pragma unroll
    for (int j = 0; j < kValues; ++j) v[j] = in[i + (size_t)j * n];
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < kValues; ++j) v[j] = v[j] * v[(j + 7) % kValues] + 0.5f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < kValues; ++j) sum += v[j];
    out[i] = sum;
}

// 32 registers at most: half of the values live in local memory.
extern "C" __global__ void __launch_bounds__(1024, 2)
    spill_capped(const float* __restrict__ in, float* __restrict__ out, int n, int rounds) {
    mix<48>(in, out, n, rounds);
}

extern "C" __global__ void __launch_bounds__(1024, 1)
    spill_free(const float* __restrict__ in, float* __restrict__ out, int n, int rounds) {
    mix<48>(in, out, n, rounds);
}

// An array indexed by data cannot live in registers.
extern "C" __global__ void spill_indexed(const int* __restrict__ in, int* __restrict__ out, int n,
                                         int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    int table[32];
#pragma unroll
    for (int j = 0; j < 32; ++j) table[j] = i * j;
    int at = in[i] & 31;
    for (int r = 0; r < rounds; ++r) {
        table[at] += r;
        at = (at + table[(at + 5) & 31]) & 31;
    }
    out[i] = table[at];
}
