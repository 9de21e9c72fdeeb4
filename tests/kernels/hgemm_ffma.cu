// C[M,N] = A[M,K] * B[K,N] with f16 inputs, multiplied in f32 on the FMA pipe: tile 64 x 64 x 16,
// 4 x 4 sums per thread, no tensor cores.

#include <cuda_fp16.h>

extern "C" __global__ void __launch_bounds__(256)
    hgemm_ffma(float* __restrict__ c, const __half* __restrict__ a, const __half* __restrict__ b,
               int M, int N, int K) {
    __shared__ __align__(16) float a_tile[16][64 + 4];
    __shared__ __align__(16) float b_tile[16][64];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    // 64 x 16 halves of A and 16 x 64 of B: four of each per thread.
    const int a_row = threadIdx.x / 4, a_column = threadIdx.x % 4 * 4;
    const int b_row = threadIdx.x / 16, b_column = threadIdx.x % 16 * 4;
    const __half* a_from = a + static_cast<size_t>(blockIdx.y * 64 + a_row) * K + a_column;
    const __half* b_from = b + static_cast<size_t>(b_row) * N + blockIdx.x * 64 + b_column;
    float sum[4][4] = {};
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += 16) {
        const uint2 a_staged = *reinterpret_cast<const uint2*>(a_from);
        const uint2 b_staged = *reinterpret_cast<const uint2*>(b_from);
        const float2 a_low = __half22float2(*reinterpret_cast<const __half2*>(&a_staged.x));
        const float2 a_high = __half22float2(*reinterpret_cast<const __half2*>(&a_staged.y));
        const float2 b_low = __half22float2(*reinterpret_cast<const __half2*>(&b_staged.x));
        const float2 b_high = __half22float2(*reinterpret_cast<const __half2*>(&b_staged.y));
        __syncthreads();
        a_tile[a_column][a_row] = a_low.x;
        a_tile[a_column + 1][a_row] = a_low.y;
        a_tile[a_column + 2][a_row] = a_high.x;
        a_tile[a_column + 3][a_row] = a_high.y;
        *reinterpret_cast<float4*>(&b_tile[b_row][b_column]) =
            make_float4(b_low.x, b_low.y, b_high.x, b_high.y);
        __syncthreads();
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            const float4 p = *reinterpret_cast<const float4*>(&a_tile[k][ty * 4]);
            const float4 q = *reinterpret_cast<const float4*>(&b_tile[k][tx * 4]);
            const float a_frag[4] = {p.x, p.y, p.z, p.w};
            const float b_frag[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sum[i][j] += a_frag[i] * b_frag[j];
                }
            }
        }
        a_from += 16;
        b_from += static_cast<size_t>(16) * N;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float* to = c + static_cast<size_t>(blockIdx.y * 64 + ty * 4 + i) * N + blockIdx.x * 64 + tx * 4;
        *reinterpret_cast<float4*>(to) = make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}
