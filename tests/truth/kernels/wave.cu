// Equal blocks, one per SM because of their shared memory: a full wave, and one block more.

__device__ __forceinline__ void multiply_add(float* out, int rounds) {
    extern __shared__ float shared[];
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = threadIdx.x + j;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = v[j] * 1.0001f + 0.25f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += v[j];
    shared[threadIdx.x] = sum;
    out[blockIdx.x * blockDim.x + threadIdx.x] = shared[threadIdx.x];
}

extern "C" __global__ void wave_full(float* __restrict__ out, int rounds) { multiply_add(out, rounds); }

extern "C" __global__ void wave_tail(float* __restrict__ out, int rounds) { multiply_add(out, rounds); }
