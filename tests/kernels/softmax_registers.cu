// softmax_reread for rows of 4,096 columns that stay in registers: the row is read once.

#include "reduce.cuh"

namespace {

constexpr int kPerThread = 16;  // 256 threads * 16 = 4,096 columns

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    softmax_registers(float* __restrict__ y, const float* __restrict__ x, int rows, int cols) {
    __shared__ float scratch[8];
    __shared__ float shared_value;
    const float* from = x + static_cast<size_t>(blockIdx.x) * cols + threadIdx.x;
    float value[kPerThread];
    float top = -1e30f;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        value[i] = from[i * 256];
        top = fmaxf(top, value[i]);
    }
#pragma unroll
    for (int offset = 16; offset > 0; offset /= 2) {
        top = fmaxf(top, __shfl_xor_sync(0xffffffffu, top, offset));
    }
    if (threadIdx.x % 32 == 0) {
        scratch[threadIdx.x / 32] = top;
    }
    __syncthreads();
#pragma unroll
    for (int warp = 0; warp < 8; ++warp) {
        top = fmaxf(top, scratch[warp]);
    }
    __syncthreads();
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        value[i] = __expf(value[i] - top);
        sum += value[i];
    }
    sum = block_sum<256>(sum, scratch);
    if (threadIdx.x == 0) {
        shared_value = __fdividef(1.0f, sum);
    }
    __syncthreads();
    const float scale = shared_value;
#pragma unroll
    for (int i = 0; i < kPerThread; ++i) {
        y[static_cast<size_t>(blockIdx.x) * cols + threadIdx.x + i * 256] = value[i] * scale;
    }
}
