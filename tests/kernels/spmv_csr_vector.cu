// Sparse matrix (CSR) times vector, one warp per row: values and columns are read coalesced.

#include "reduce.cuh"

extern "C" __global__ void __launch_bounds__(256)
    spmv_csr_vector(float* __restrict__ y, const int* __restrict__ first,
                    const int* __restrict__ column, const float* __restrict__ value,
                    const float* __restrict__ x, int rows) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    const int last = first[row + 1];
#pragma unroll 1
    for (int i = first[row] + threadIdx.x % 32; i < last; i += 32) {
        sum += value[i] * x[column[i]];
    }
    sum = warp_sum(sum);
    if (threadIdx.x % 32 == 0) {
        y[row] = sum;
    }
}
