// C[M,N] = A[M,K] * B[N,K]^T as in hgemm_30k, with a K tile twice as deep.
//
// Tile 64 x 64 x 192, 128 threads: 6 * (64 + 64) * 40 * 2 B = 61,440 B of shared memory, all of it
// dynamic (the host must opt in with cudaFuncAttributeMaxDynamicSharedMemorySize). On an SM with
// 100 KB only one block of four warps fits. M and N are multiples of 64, K of 192.

#include "mma.cuh"

namespace {

constexpr int kTile = 64;
constexpr int kSlabs = 6;
constexpr int kSlab = 32;
constexpr int kPitch = kSlab + 8;
constexpr int kTileK = kSlabs * kSlab;
constexpr int kThreads = 128;
constexpr int kPassVectors = 6;  // 16-byte loads per operand, thread and pass
constexpr int kPasses = 2;

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    hgemm_over_cliff(float* __restrict__ c, const __half* __restrict__ a,
                     const __half* __restrict__ b, int M, int N, int K) {
    extern __shared__ __align__(16) __half tiles[];
    __half(*a_tile)[kTile][kPitch] = reinterpret_cast<__half(*)[kTile][kPitch]>(tiles);
    __half(*b_tile)[kTile][kPitch] = a_tile + kSlabs;

    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 / 2 * 32;
    const int warp_n = threadIdx.x / 32 % 2 * 32;
    const int row = threadIdx.x / 4;
    const int column = threadIdx.x % 4 * 8;
    const __half* a_from = a + static_cast<size_t>(blockIdx.y * kTile + row) * K + column;
    const __half* b_from = b + static_cast<size_t>(blockIdx.x * kTile + row) * K + column;

    // The row of this lane in the four 8 x 8 matrices of an ldmatrix.
    const int a_row = warp_m + lane % 16;
    const int a_column = lane / 16 * 8;
    const int b_row = warp_n + lane / 16 * 8 + lane % 8;
    const int b_column = lane / 8 % 2 * 8;

    float acc[2][4][4] = {};

#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += kTileK) {
        __syncthreads();  // the previous tile is no longer read
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            uint4 a_staged[kPassVectors];
            uint4 b_staged[kPassVectors];
#pragma unroll
            for (int i = 0; i < kPassVectors; ++i) {
                const int v = pass * kPassVectors + i;
                const size_t offset = static_cast<size_t>(v % 2 * 32) * K + v / 2 * kSlab;
                a_staged[i] = *reinterpret_cast<const uint4*>(a_from + offset);
                b_staged[i] = *reinterpret_cast<const uint4*>(b_from + offset);
            }
#pragma unroll
            for (int i = 0; i < kPassVectors; ++i) {
                const int v = pass * kPassVectors + i;
                *reinterpret_cast<uint4*>(&a_tile[v / 2][row + v % 2 * 32][column]) = a_staged[i];
                *reinterpret_cast<uint4*>(&b_tile[v / 2][row + v % 2 * 32][column]) = b_staged[i];
            }
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTileK; k += 16) {
            uint32_t a_frag[2][4];
            uint32_t b_frag[2][4];
#pragma unroll
            for (int i = 0; i < 2; ++i) {
                ldmatrix_x4(a_frag[i], &a_tile[k / kSlab][a_row + i * 16][k % kSlab + a_column]);
                ldmatrix_x4(b_frag[i], &b_tile[k / kSlab][b_row + i * 16][k % kSlab + b_column]);
            }
#pragma unroll
            for (int i = 0; i < 2; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    mma_16816(acc[i][j], a_frag[i], b_frag[j / 2][j % 2 * 2],
                              b_frag[j / 2][j % 2 * 2 + 1]);
                }
            }
        }
        a_from += kTileK;
        b_from += kTileK;
    }

    const int c_row = blockIdx.y * kTile + warp_m + lane / 4;
    const int c_column = blockIdx.x * kTile + warp_n + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            float* to = c + static_cast<size_t>(c_row + i * 16) * N + c_column + j * 8;
            *reinterpret_cast<float2*>(to) = make_float2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<float2*>(to + 8 * static_cast<size_t>(N)) =
                make_float2(acc[i][j][2], acc[i][j][3]);
        }
    }
}
