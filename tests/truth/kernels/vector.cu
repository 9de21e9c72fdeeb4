// y = A x for a row-major matrix.

extern "C" __global__ void vector_warp(const float* __restrict__ a, const float* __restrict__ x,
                                       float* __restrict__ y, int rows, int columns) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += a[(size_t)row * columns + i] * x[i];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}

// Few rows: most of the chip idles.
extern "C" __global__ void vector_few(const float* __restrict__ a, const float* __restrict__ x,
                                      float* __restrict__ y, int rows, int columns) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += a[(size_t)row * columns + i] * x[i];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (lane == 0) y[row] = sum;
}
