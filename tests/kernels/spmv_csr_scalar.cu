// Sparse matrix (CSR) times vector, one thread per row: neighbouring lanes read far apart.

extern "C" __global__ void __launch_bounds__(256)
    spmv_csr_scalar(float* __restrict__ y, const int* __restrict__ first,
                    const int* __restrict__ column, const float* __restrict__ value,
                    const float* __restrict__ x, int rows) {
    const int row = blockIdx.x * 256 + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
    const int last = first[row + 1];
#pragma unroll 1
    for (int i = first[row]; i < last; ++i) {
        sum += value[i] * x[column[i]];
    }
    y[row] = sum;
}
