// Working sets that stay in L2.

#include "tensor.cuh"

// All blocks read the same 16 MB again and again, 16 bytes per thread.
extern "C" __global__ void cache_read(const float4* __restrict__ in, float4* __restrict__ out, int n,
                                      int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int r = 0; r < rounds; ++r) {
        const float4 v = in[(i + r * 65536) & (n - 1)];
        sum.x += v.x;
        sum.y += v.y;
        sum.z += v.z;
        sum.w += v.w;
    }
    out[i] = sum;
}

// The same 4 bytes per thread.
extern "C" __global__ void cache_words(const float* __restrict__ in, float* __restrict__ out, int n,
                                       int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) sum += in[(i + r * 262144) & (n - 1)];
    out[i] = sum;
}

// cp.async past L1 into a ring of shared memory.
extern "C" __global__ void __launch_bounds__(256) cache_async(const uint4* __restrict__ in,
                                                              uint4* __restrict__ out, int n,
                                                              int rounds) {
    __shared__ uint4 ring[4][256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    uint4 sum = make_uint4(0, 0, 0, 0);
    for (int r = 0; r < rounds + 3; ++r) {
        if (r < rounds) copy_async_16(&ring[r & 3][threadIdx.x], in + ((i + r * 65536) & (n - 1)));
        copy_commit();
        copy_wait<3>();
        if (r >= 3) sum.x ^= ring[(r + 1) & 3][threadIdx.x].x;
    }
    out[i] = sum;
}

// One word per 128-byte line.
extern "C" __global__ void cache_lines(const float* __restrict__ in, float* __restrict__ out, int n,
                                       int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int r = 0; r < rounds; ++r) sum += in[((i * 32) + r * 7 * 65536) & (n - 1)];
    out[i] = sum;
}
