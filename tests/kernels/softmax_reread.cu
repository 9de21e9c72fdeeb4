// Softmax of each row, one block of 256 threads per row: the row is read from global memory three
// times (maximum, sum, result).

#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
    softmax_reread(float* __restrict__ y, const float* x, int rows, int cols) {
    __shared__ float scratch[8];
    __shared__ float shared_value;
    const float* from = x + static_cast<size_t>(blockIdx.x) * cols;
    float top = -1e30f;
#pragma unroll 1
    for (int i = threadIdx.x; i < cols; i += 256) {
        top = fmaxf(top, from[i]);
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
#pragma unroll 1
    for (int i = threadIdx.x; i < cols; i += 256) {
        sum += __expf(from[i] - top);
    }
    sum = block_sum<256>(sum, scratch);
    if (threadIdx.x == 0) {
        shared_value = __fdividef(1.0f, sum);
    }
    __syncthreads();
    const float scale = shared_value;
#pragma unroll 1
    for (int i = threadIdx.x; i < cols; i += 256) {
        y[static_cast<size_t>(blockIdx.x) * cols + i] = __expf(from[i] - top) * scale;
    }
}
