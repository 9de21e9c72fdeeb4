// Little work between barriers.

extern "C" __global__ void barrier_steps(float* __restrict__ out, int rounds) {
    __shared__ float line[256];
    const int t = threadIdx.x;
    float v = t * 0.5f;
    for (int r = 0; r < rounds; ++r) {
        line[t] = v;
        __syncthreads();
        v = v * 0.5f + line[(t + 1) & 255];
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = v;
}

// Neighbours within a warp need no barrier.
extern "C" __global__ void barrier_shuffle(float* __restrict__ out, int rounds) {
    float v = threadIdx.x * 0.5f;
    for (int r = 0; r < rounds; ++r) v = v * 0.5f + __shfl_sync(~0u, v, (threadIdx.x + 1) & 31);
    out[blockIdx.x * 256 + threadIdx.x] = v;
}

// One warp works, seven wait.
extern "C" __global__ void barrier_serial(float* __restrict__ out, int rounds) {
    __shared__ float line[32];
    float v = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        if (threadIdx.x < 32) {
            float w = threadIdx.x + v;
#pragma unroll
            for (int j = 0; j < 16; ++j) w = w * 0.75f + 1.0f;
            line[threadIdx.x] = w;
        }
        __syncthreads();
        v += line[threadIdx.x & 31];
        __syncthreads();
    }
    out[blockIdx.x * 256 + threadIdx.x] = v;
}
