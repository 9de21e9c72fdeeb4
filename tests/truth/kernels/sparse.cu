// Sparse matrix times vector: CSR by thread and by warp, ELLPACK column-major.

extern "C" __global__ void sparse_thread(const int* __restrict__ first, const int* __restrict__ column,
                                         const float* __restrict__ value, const float* __restrict__ x,
                                         float* __restrict__ y, int rows) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = first[row]; i < first[row + 1]; ++i) sum += value[i] * x[column[i]];
    y[row] = sum;
}

extern "C" __global__ void sparse_warp(const int* __restrict__ first, const int* __restrict__ column,
                                       const float* __restrict__ value, const float* __restrict__ x,
                                       float* __restrict__ y, int rows) {
    const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = first[row] + lane; i < first[row + 1]; i += 32) sum += value[i] * x[column[i]];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}

extern "C" __global__ void sparse_ell(const int* __restrict__ column, const float* __restrict__ value,
                                      const float* __restrict__ x, float* __restrict__ y, int rows,
                                      int width) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < width; ++i)
        sum += value[(size_t)i * rows + row] * x[column[(size_t)i * rows + row]];
    y[row] = sum;
}
