// C[M,N] = A[M,K] * B[K,N], f32, one sum per thread; the loop over tiles of 16 is unrolled by four.

extern "C" __global__ void __launch_bounds__(256)
    sgemm_four_tiles(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                     int M, int N, int K) {
    __shared__ float a_tile[16][16], b_tile[16][16];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const int row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
#pragma unroll 4
    for (int k0 = 0; k0 < K; k0 += 16) {
        a_tile[ty][tx] = a[static_cast<size_t>(row) * K + k0 + tx];
        b_tile[ty][tx] = b[static_cast<size_t>(k0 + ty) * N + column];
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            sum += a_tile[ty][k] * b_tile[k][tx];
        }
        __syncthreads();
    }
    c[static_cast<size_t>(row) * N + column] = sum;
}
