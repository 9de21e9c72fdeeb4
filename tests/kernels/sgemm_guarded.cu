// C[M,N] = A[M,K] * B[K,N], f32, any sizes: tiles of 32 that 32 x 8 threads load in four rounds.
//
// The compiler unrolls the rounds by four and puts the rest, which is empty here, in front.

extern "C" __global__ void __launch_bounds__(256)
    sgemm_guarded(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                  int M, int N, int K) {
    __shared__ float a_tile[32][33], b_tile[32][33];
    const int tx = threadIdx.x, ty = threadIdx.y;
    const int row0 = blockIdx.y * 32, column0 = blockIdx.x * 32;
    float sum[4] = {};
    for (int k0 = 0; k0 < K; k0 += 32) {
        for (int r = ty; r < 32; r += 8) {
            const bool in_a = row0 + r < M && k0 + tx < K, in_b = k0 + r < K && column0 + tx < N;
            a_tile[r][tx] = in_a ? a[static_cast<size_t>(row0 + r) * K + k0 + tx] : 0.0f;
            b_tile[r][tx] = in_b ? b[static_cast<size_t>(k0 + r) * N + column0 + tx] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 32; ++k) {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                sum[i] += a_tile[ty + 8 * i][k] * b_tile[k][tx];
            }
        }
        __syncthreads();
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const int row = row0 + ty + 8 * i, column = column0 + tx;
        if (row < M && column < N) {
            c[static_cast<size_t>(row) * N + column] = sum[i];
        }
    }
}
