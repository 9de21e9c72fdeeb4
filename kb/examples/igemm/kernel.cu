// C[M,N] = A[M,K] * B[N,K]^T, s8 inputs, s32 output, on the tensor cores.
//
// Tile 64 x 64 x 32, 128 threads (2 x 2 warps of 32 x 32): 8 mma.m16n8k32 and 2 loads of 16 bytes per
// warp and K tile. Staged through registers, nothing overlaps. Rows of 32 bytes padded to 48, which
// ldmatrix reads without bank conflicts. M and N are multiples of 64, K of 32.

#include <stdint.h>

namespace {

constexpr int kTile = 64;
constexpr int kTileK = 32;
constexpr int kPitch = kTileK + 16;
constexpr int kThreads = 128;

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const int8_t* row) {
    const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}

__device__ __forceinline__ void mma_16832(int (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                          uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else  // compute capability 7.5 has m8n8k16 only
    asm volatile(
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%4}, {%8}, {%0,%1};\n"
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%2,%3}, {%5}, {%8}, {%2,%3};\n"
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%6}, {%9}, {%0,%1};\n"
        "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%2,%3}, {%7}, {%9}, {%2,%3};"
        : "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#endif
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads, 4)
    igemm(int* __restrict__ c, const int8_t* __restrict__ a, const int8_t* __restrict__ b, int M,
          int N, int K) {
    __shared__ __align__(16) int8_t a_tile[kTile][kPitch];
    __shared__ __align__(16) int8_t b_tile[kTile][kPitch];

    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 / 2 * 32;
    const int warp_n = threadIdx.x / 32 % 2 * 32;
    const int row = threadIdx.x / 2;
    const int column = threadIdx.x % 2 * 16;
    const int8_t* a_from = a + static_cast<size_t>(blockIdx.y * kTile + row) * K + column;
    const int8_t* b_from = b + static_cast<size_t>(blockIdx.x * kTile + row) * K + column;
    // The row of this lane in the four matrices of an ldmatrix (8 rows of 16 bytes each).
    const int a_row = warp_m + lane % 16, a_column = lane / 16 * 16;
    const int b_row = warp_n + lane / 16 * 8 + lane % 8, b_column = lane / 8 % 2 * 16;

    int acc[2][4][4] = {};

#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += kTileK) {
        const uint4 a_staged = *reinterpret_cast<const uint4*>(a_from);
        const uint4 b_staged = *reinterpret_cast<const uint4*>(b_from);
        __syncthreads();  // the previous tile is no longer read
        *reinterpret_cast<uint4*>(&a_tile[row][column]) = a_staged;
        *reinterpret_cast<uint4*>(&b_tile[row][column]) = b_staged;
        __syncthreads();
        uint32_t a_frag[2][4];
        uint32_t b_frag[2][4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            ldmatrix_x4(a_frag[i], &a_tile[a_row + i * 16][a_column]);
            ldmatrix_x4(b_frag[i], &b_tile[b_row + i * 16][b_column]);
        }
#pragma unroll
        for (int i = 0; i < 2; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                mma_16832(acc[i][j], a_frag[i], b_frag[j / 2][j % 2 * 2],
                          b_frag[j / 2][j % 2 * 2 + 1]);
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
            int* to = c + static_cast<size_t>(c_row + i * 16) * N + c_column + j * 8;
            *reinterpret_cast<int2*>(to) = make_int2(acc[i][j][0], acc[i][j][1]);
            *reinterpret_cast<int2*>(to + 8 * static_cast<size_t>(N)) =
                make_int2(acc[i][j][2], acc[i][j][3]);
        }
    }
}
