// C[M,N] = A[M,K] * B[N,K]^T, f16 inputs, f32 accumulators and output, on the tensor cores.
//
// Tile 64 x 64 x 96, 128 threads (2 x 2 warps of 32 x 32). One buffer: every K tile is loaded into
// registers, stored to shared memory, and used only after a barrier, so nothing overlaps.
// The K tile is kept as three slabs of 32 columns with rows padded to 40 halves (80 B, free of bank
// conflicts for ldmatrix): 3 * (64 + 64) * 40 * 2 B = 30,720 B of shared memory.
// M and N are multiples of 64, K of 96.

#include <cuda_fp16.h>
#include <stdint.h>

namespace {

constexpr int kTile = 64;
constexpr int kSlabs = 3;
constexpr int kSlab = 32;
constexpr int kPitch = kSlab + 8;
constexpr int kTileK = kSlabs * kSlab;
constexpr int kThreads = 128;
constexpr int kVectors = kTile * kTileK / 8 / kThreads;  // 16-byte loads per operand and thread

__device__ __forceinline__ void ldmatrix_x4(uint32_t (&r)[4], const __half* row) {
    const uint32_t address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(address));
}

__device__ __forceinline__ void mma_16816(float (&c)[4], const uint32_t (&a)[4], uint32_t b0,
                                          uint32_t b1) {
#if __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else  // compute capability 7.5 has the half-depth shape only
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(b0));
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
        "{%0,%1,%2,%3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[2]), "r"(a[3]), "r"(b1));
#endif
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    hgemm_30k(float* __restrict__ c, const __half* __restrict__ a, const __half* __restrict__ b,
              int M, int N, int K) {
    __shared__ __align__(16) __half a_tile[kSlabs][kTile][kPitch];
    __shared__ __align__(16) __half b_tile[kSlabs][kTile][kPitch];

    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 / 2 * 32;
    const int warp_n = threadIdx.x / 32 % 2 * 32;
    const int row = threadIdx.x / 4;          // 32 rows a pass, two passes a slab
    const int column = threadIdx.x % 4 * 8;   // 8 halves = 16 bytes
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
        uint4 a_staged[kVectors];
        uint4 b_staged[kVectors];
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            const size_t offset = static_cast<size_t>(v % 2 * 32) * K + v / 2 * kSlab;
            a_staged[v] = *reinterpret_cast<const uint4*>(a_from + offset);
            b_staged[v] = *reinterpret_cast<const uint4*>(b_from + offset);
        }
        __syncthreads();  // the previous tile is no longer read
#pragma unroll
        for (int v = 0; v < kVectors; ++v) {
            *reinterpret_cast<uint4*>(&a_tile[v / 2][row + v % 2 * 32][column]) = a_staged[v];
            *reinterpret_cast<uint4*>(&b_tile[v / 2][row + v % 2 * 32][column]) = b_staged[v];
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
