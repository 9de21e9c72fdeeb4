// Transpose through a 32 x 32 tile: both sides coalesced, but a column of the tile lies in one bank.

extern "C" __global__ void __launch_bounds__(256)
    transpose_shared(float* __restrict__ y, const float* __restrict__ x, int rows, int cols) {
    __shared__ float tile[32][32];
    const int tx = threadIdx.x % 32, ty = threadIdx.x / 32;
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        tile[ty + i][tx] = x[static_cast<size_t>(blockIdx.y * 32 + ty + i) * cols + blockIdx.x * 32 + tx];
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; i += 8) {
        y[static_cast<size_t>(blockIdx.x * 32 + ty + i) * rows + blockIdx.y * 32 + tx] = tile[tx][ty + i];
    }
}
