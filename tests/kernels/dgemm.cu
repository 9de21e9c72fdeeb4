// C[M,N] = A[M,K] * B[K,N], f64, tile 64 x 64 x 8, 4 x 4 sums per thread: DFMA.

extern "C" __global__ void __launch_bounds__(256)
    dgemm(double* __restrict__ c, const double* __restrict__ a, const double* __restrict__ b, int M,
          int N, int K) {
    __shared__ __align__(16) double a_tile[8][64 + 2];
    __shared__ __align__(16) double b_tile[8][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int a_row = threadIdx.x / 4, a_column = threadIdx.x % 4 * 2;
    const int b_row = threadIdx.x / 32, b_column = threadIdx.x % 32 * 2;
    const double* a_from = a + static_cast<size_t>(blockIdx.y * 64 + a_row) * K + a_column;
    const double* b_from = b + static_cast<size_t>(b_row) * N + blockIdx.x * 64 + b_column;
    double sum[4][4] = {};
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += 8) {
        const double2 a_staged = *reinterpret_cast<const double2*>(a_from);
        const double2 b_staged = *reinterpret_cast<const double2*>(b_from);
        __syncthreads();
        a_tile[a_column][a_row] = a_staged.x;
        a_tile[a_column + 1][a_row] = a_staged.y;
        *reinterpret_cast<double2*>(&b_tile[b_row][b_column]) = b_staged;
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            double a_frag[4], b_frag[4];
#pragma unroll
            for (int i = 0; i < 4; i += 2) {
                *reinterpret_cast<double2*>(&a_frag[i]) =
                    *reinterpret_cast<const double2*>(&a_tile[k][ty * 4 + i]);
                *reinterpret_cast<double2*>(&b_frag[i]) =
                    *reinterpret_cast<const double2*>(&b_tile[k][i * 16 + tx * 2]);
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sum[i][j] += a_frag[i] * b_frag[j];
                }
            }
        }
        a_from += 8;
        b_from += static_cast<size_t>(8) * N;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; j += 2) {
            *reinterpret_cast<double2*>(c + static_cast<size_t>(blockIdx.y * 64 + ty * 4 + i) * N +
                                        blockIdx.x * 64 + j * 16 + tx * 2) =
                make_double2(sum[i][j], sum[i][j + 1]);
        }
    }
}
