// Transpose of a rows x cols matrix: coalesced reads, writes `rows` elements apart.

extern "C" __global__ void __launch_bounds__(256)
    transpose_naive(float* __restrict__ y, const float* __restrict__ x, int rows, int cols) {
    const int column = blockIdx.x * 32 + threadIdx.x % 32;
    const int row = blockIdx.y * 32 + threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        y[static_cast<size_t>(column) * rows + row + i] =
            x[static_cast<size_t>(row + i) * cols + column];
    }
}
