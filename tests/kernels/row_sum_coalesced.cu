// row_sum_strided with one warp per row: lanes read neighbouring elements.

#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
    row_sum_coalesced(float* __restrict__ y, const float* __restrict__ x, int rows, int cols) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 4
    for (int column = threadIdx.x % 32; column < cols; column += 32) {
        sum += x[static_cast<size_t>(row) * cols + column];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        y[row] = sum;
    }
}
