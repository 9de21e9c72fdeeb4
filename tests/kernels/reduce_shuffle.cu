// Sum of n floats: grid-stride loop of float4, warp shuffles, one atomic per block. n is a multiple
// of 4.

#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
    reduce_shuffle(float* __restrict__ total, const float* __restrict__ x, int n) {
    __shared__ float scratch[8];
    const float4* from = reinterpret_cast<const float4*>(x);
    float sum = 0.0f;
#pragma unroll 1
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n / 4; i += gridDim.x * 256) {
        const float4 v = from[i];
        sum += (v.x + v.y) + (v.z + v.w);
    }
    sum = block_sum<256>(sum, scratch);
    if (threadIdx.x == 0) {
        atomicAdd(total, sum);
    }
}
