// C[M,N] = A[M,K] * B[N,K]^T with 8-bit integers and 32-bit sums.

#include "tensor.cuh"

// 64 x 64 outputs, 4 x 4 per thread, dp4a on words of four values.
extern "C" __global__ void __launch_bounds__(256) igemm_dp4a(const int* __restrict__ a,
                                                             const int* __restrict__ b,
                                                             int* __restrict__ c, int m, int n,
                                                             int k) {
    __shared__ int as[8][65], bs[8][65];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16, words = k / 4;
    int acc[4][4] = {};
    for (int tile = 0; tile < words; tile += 8) {
#pragma unroll
        for (int i = t; i < 512; i += 256) {
            as[i % 8][i / 8] = a[(size_t)(blockIdx.y * 64 + i / 8) * words + tile + i % 8];
            bs[i % 8][i / 8] = b[(size_t)(blockIdx.x * 64 + i / 8) * words + tile + i % 8];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int s = 0; s < 4; ++s)
                    acc[r][s] = __dp4a(as[i][ty * 4 + r], bs[i][tx + s * 16], acc[r][s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s)
            c[(size_t)(blockIdx.y * 64 + ty * 4 + r) * n + blockIdx.x * 64 + tx + s * 16] = acc[r][s];
}

// 64 x 128 outputs per block of 4 warps, tiles 64 bytes deep, rows of 80 bytes.
extern "C" __global__ void __launch_bounds__(128) igemm_mma(const int8_t* __restrict__ a,
                                                            const int8_t* __restrict__ b,
                                                            int* __restrict__ c, int m, int n,
                                                            int k) {
    constexpr int kPitch = 80, kRows = 64, kColumns = 128;
    __shared__ __align__(128) int8_t shared[(kRows + kColumns) * kPitch];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int wm = warp / 2 * 32, wn = warp % 2 * 64;
    int acc[2][8][4] = {};
    for (int tile = 0; tile < k; tile += 64) {
#pragma unroll
        for (int i = t; i < (kRows + kColumns) * 4; i += 128) {
            const int row = i / 4, part = i % 4 * 16;
            const int8_t* from = row < kRows ? a + (size_t)(blockIdx.y * kRows + row) * k
                                             : b + (size_t)(blockIdx.x * kColumns + row - kRows) * k;
            *reinterpret_cast<uint4*>(shared + row * kPitch + part) =
                *reinterpret_cast<const uint4*>(from + tile + part);
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 64; i += 32) {
            uint32_t left[2][4], right[4][4];
#pragma unroll
            for (int r = 0; r < 2; ++r)
                load_matrices(left[r], shared + (wm + r * 16 + lane % 16) * kPitch + i + lane / 16 * 16);
#pragma unroll
            for (int s = 0; s < 4; ++s)
                load_matrices(right[s], shared +
                                            (kRows + wn + s * 16 + lane / 16 * 8 + lane % 8) * kPitch +
                                            i + lane / 8 % 2 * 16);
#pragma unroll
            for (int r = 0; r < 2; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s)
                    mma_int8(acc[r][s], left[r], right[s / 2][s % 2 * 2], right[s / 2][s % 2 * 2 + 1]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int s = 0; s < 8; ++s) {
            int* to = c + (size_t)(blockIdx.y * kRows + wm + r * 16 + lane / 4) * n +
                      blockIdx.x * kColumns + wn + s * 8 + lane % 4 * 2;
            *reinterpret_cast<int2*>(to) = make_int2(acc[r][s][0], acc[r][s][1]);
            *reinterpret_cast<int2*>(to + 8 * n) = make_int2(acc[r][s][2], acc[r][s][3]);
        }
    }
}
