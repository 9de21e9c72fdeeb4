// C[M,N] = A[M,K] * B[N,K]^T, s8 inputs, s32 output, with mma.m16n8k16.
//
// Tile 128 x 128 x 64, 128 threads (2 x 2 warps of 64 x 64): 128 IMMA and 8 LDGSTS per warp and tile.
// Three buffers of 20,480 B in dynamic shared memory (61,440 B): one block of four warps on an SM with
// 100 KB, one warp per scheduler, so IMMA must follow each other as fast as the pipe takes them.
// M and N are multiples of 128, K of 64.

#include "mma.cuh"

namespace {

constexpr int kTile = 128;
constexpr int kTileK = 64;
constexpr int kPitch = kTileK + 16;
constexpr int kStages = 3;
constexpr int kThreads = 128;
constexpr int kOperandBytes = kTile * kPitch;
constexpr int kStageBytes = 2 * kOperandBytes;
static_assert(kStages * kStageBytes == 61440, "launch with this much");

struct Copy {
    const int8_t* a_from;
    const int8_t* b_from;
    int K;

    __device__ __forceinline__ void next(int8_t* stage) {
        int8_t* to = stage + threadIdx.x / 4 * kPitch + threadIdx.x % 4 * 16;
#pragma unroll
        for (int row = 0; row < kTile; row += kThreads / 4) {
            cp_async_16(to + row * kPitch, a_from + static_cast<size_t>(row) * K);
            cp_async_16(to + kOperandBytes + row * kPitch, b_from + static_cast<size_t>(row) * K);
        }
        a_from += kTileK;
        b_from += kTileK;
    }
};

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 1)
    igemm_fat_block(int* __restrict__ c, const int8_t* __restrict__ a, const int8_t* __restrict__ b,
                    int M, int N, int K) {
    extern __shared__ __align__(16) int8_t tiles[];
    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 / 2 * 64;
    const int warp_n = threadIdx.x / 32 % 2 * 64;
    const int a_row = warp_m + lane % 16, a_column = lane / 16 * 16;
    const int b_row = warp_n + lane / 16 * 8 + lane % 8, b_column = lane / 8 % 2 * 16;
    const int row = threadIdx.x / 4, column = threadIdx.x % 4 * 16;
    Copy copy{a + static_cast<size_t>(blockIdx.y * kTile + row) * K + column,
              b + static_cast<size_t>(blockIdx.x * kTile + row) * K + column, K};

    int acc[4][8][4] = {};

#pragma unroll
    for (int stage = 0; stage < kStages - 1; ++stage) {
        copy.next(tiles + stage * kStageBytes);
        cp_async_commit();
    }
    int stage = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += kTileK) {
        cp_async_wait<kStages - 2>();
        __syncthreads();
        if (k0 + (kStages - 1) * kTileK < K) {
            copy.next(tiles + (stage == 0 ? kStages - 1 : stage - 1) * kStageBytes);
        }
        cp_async_commit();
        const int8_t* a_tile = tiles + stage * kStageBytes;
        const int8_t* b_tile = a_tile + kOperandBytes;
#pragma unroll
        for (int k = 0; k < kTileK; k += 32) {
            uint32_t a_frag[4][4];
            uint32_t b_frag[4][4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                ldmatrix_x4(a_frag[i], a_tile + (a_row + i * 16) * kPitch + k + a_column);
                ldmatrix_x4(b_frag[i], b_tile + (b_row + i * 16) * kPitch + k + b_column);
            }
#pragma unroll
            for (int half = 0; half < 2; ++half) {
#pragma unroll
                for (int i = 0; i < 4; ++i) {
#pragma unroll
                    for (int j = 0; j < 8; ++j) {
                        imma_16816(acc[i][j], a_frag[i][half * 2], a_frag[i][half * 2 + 1],
                                   b_frag[j / 2][j % 2 * 2 + half]);
                    }
                }
            }
        }
        stage = stage == kStages - 1 ? 0 : stage + 1;
    }

    const int c_row = blockIdx.y * kTile + warp_m + lane / 4;
    const int c_column = blockIdx.x * kTile + warp_n + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            int* to = c + static_cast<size_t>(c_row + i * 16) * N + c_column + j * 8;
            *reinterpret_cast<int2*>(to) = make_int2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<int2*>(to + 8 * static_cast<size_t>(N)) =
                make_int2(acc[i][j][2], acc[i][j][3]);
        }
    }
}
