// C[M,N] = A[M,K] * B[K,N], f64, tile 8 x 8 x 8, one sum per thread: 8 DFMA for 2 loads, yet twice
// as many FLOP per loaded byte as an RTX 3070 Ti has FP64 FLOP per byte of DRAM.

extern "C" __global__ void __launch_bounds__(64)
    dgemm_small_tile(double* __restrict__ c, const double* __restrict__ a,
                     const double* __restrict__ b, int M, int N, int K) {
    __shared__ double a_tile[8][8];
    __shared__ double b_tile[8][8];
    const int tx = threadIdx.x % 8, ty = threadIdx.x / 8;
    const int row = blockIdx.y * 8 + ty, column = blockIdx.x * 8 + tx;
    const double* a_from = a + static_cast<size_t>(row) * K + tx;
    const double* b_from = b + static_cast<size_t>(ty) * N + column;
    double sum = 0.0;
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += 8) {
        a_tile[ty][tx] = *a_from;
        b_tile[ty][tx] = *b_from;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            sum += a_tile[ty][k] * b_tile[k][tx];
        }
        __syncthreads();
        a_from += 8;
        b_from += static_cast<size_t>(8) * N;
    }
    c[static_cast<size_t>(row) * N + column] = sum;
}
