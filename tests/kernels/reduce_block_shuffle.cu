// reduce_barrier with the tree done by warp shuffles: one barrier instead of nine.

#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
    reduce_block_shuffle(float* __restrict__ total, const float* __restrict__ x, int n) {
    __shared__ float scratch[8];
    const int first = blockIdx.x * 1024 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        sum += first + i * 256 < n ? x[first + i * 256] : 0.0f;
    }
    sum = block_sum<256>(sum, scratch);
    if (threadIdx.x == 0) {
        atomicAdd(total, sum);
    }
}
