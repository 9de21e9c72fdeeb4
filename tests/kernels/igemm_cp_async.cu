// igemm with cp.async into two buffers (12,288 B): the same 8 IMMA, the 2 loads become 2 LDGSTS.

#include "mma.cuh"

namespace {

constexpr int kTile = 64;
constexpr int kTileK = 32;
constexpr int kPitch = kTileK + 16;
constexpr int kThreads = 128;

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 4)
    igemm_cp_async(int* __restrict__ c, const int8_t* __restrict__ a, const int8_t* __restrict__ b,
                   int M, int N, int K) {
    __shared__ __align__(16) int8_t a_tile[2][kTile][kPitch];
    __shared__ __align__(16) int8_t b_tile[2][kTile][kPitch];

    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 / 2 * 32;
    const int warp_n = threadIdx.x / 32 % 2 * 32;
    const int row = threadIdx.x / 2;
    const int column = threadIdx.x % 2 * 16;
    const int8_t* a_from = a + static_cast<size_t>(blockIdx.y * kTile + row) * K + column;
    const int8_t* b_from = b + static_cast<size_t>(blockIdx.x * kTile + row) * K + column;
    const int a_row = warp_m + lane % 16, a_column = lane / 16 * 16;
    const int b_row = warp_n + lane / 16 * 8 + lane % 8, b_column = lane / 8 % 2 * 16;

    int acc[2][4][4] = {};

    cp_async_16(&a_tile[0][row][column], a_from);
    cp_async_16(&b_tile[0][row][column], b_from);
    cp_async_commit();
    int stage = 0;
#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += kTileK) {
        cp_async_wait<0>();
        __syncthreads();
        if (k0 + kTileK < K) {
            a_from += kTileK;
            b_from += kTileK;
            cp_async_16(&a_tile[stage ^ 1][row][column], a_from);
            cp_async_16(&b_tile[stage ^ 1][row][column], b_from);
        }
        cp_async_commit();
        uint32_t a_frag[2][4];
        uint32_t b_frag[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            ldmatrix_x4(a_frag[i], &a_tile[stage][a_row + i * 16][a_column]);
            ldmatrix_x4(b_frag[i], &b_tile[stage][b_row + i * 16][b_column]);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                imma_16832(acc[i][j], a_frag[i], b_frag[j / 2][j % 2 * 2],
                           b_frag[j / 2][j % 2 * 2 + 1]);
            }
        }
        stage ^= 1;
    }

    const int c_row = blockIdx.y * kTile + warp_m + lane / 4;
    const int c_column = blockIdx.x * kTile + warp_n + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            int* to = c + static_cast<size_t>(c_row + i * 16) * N + c_column + j * 8;
            *reinterpret_cast<int2*>(to) = make_int2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<int2*>(to + 8 * static_cast<size_t>(N)) =
                make_int2(acc[i][j][2], acc[i][j][3]);
        }
    }
}
