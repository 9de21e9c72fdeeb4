// Sum of every row of a rows x cols matrix, one thread per row: lanes read `cols` elements apart.

extern "C" __global__ void __launch_bounds__(256)
    row_sum_strided(float* __restrict__ y, const float* __restrict__ x, int rows, int cols) {
    const int row = blockIdx.x * 256 + threadIdx.x;
    if (row >= rows) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 4
    for (int column = 0; column < cols; ++column) {
        sum += x[static_cast<size_t>(row) * cols + column];
    }
    y[row] = sum;
}
