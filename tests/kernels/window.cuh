// Sums over a window of kTile values per block through shared memory: the body of the window kernels.
// The block walks over the window once to load it and once, in a data-dependent order, to use it.

#pragma once

template <int kTile, int kThreads>
__device__ __forceinline__ void window_sum(float* __restrict__ y, const float* __restrict__ x,
                                           int steps, float* tile) {
    const float* from = x + static_cast<size_t>(blockIdx.x) * kTile;
#pragma unroll 4
    for (int i = threadIdx.x; i < kTile; i += kThreads) {
        tile[i] = from[i];
    }
    __syncthreads();
    int at = threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        const float value = tile[at];
        sum += value;
        at = (at + __float_as_int(value)) & (kTile - 1);
    }
    y[blockIdx.x * kThreads + threadIdx.x] = sum;
}
