// Warp and block sums that the reduction kernels share.

#pragma once

__device__ __forceinline__ float warp_sum(float x) {
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        x += __shfl_xor_sync(0xffffffffu, x, offset);
    }
    return x;
}

// The sum over a block of kThreads, valid in the first warp.
template <int kThreads>
__device__ __forceinline__ float block_sum(float x, float* scratch) {
    x = warp_sum(x);
    if (threadIdx.x % 32 == 0) {
        scratch[threadIdx.x / 32] = x;
    }
    __syncthreads();
    x = threadIdx.x < kThreads / 32 ? scratch[threadIdx.x] : 0.0f;
    return threadIdx.x < 32 ? warp_sum(x) : 0.0f;
}
