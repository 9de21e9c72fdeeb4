// C[M,N] = A[M,K] * B[N,K]^T with f16 inputs and f32 output, mma.sync.m16n8k16.

#include "tensor.cuh"

// Each warp reads its fragments straight from global memory; 64 x 64 outputs per block of 4 warps.
extern "C" __global__ void __launch_bounds__(128) hgemm_direct(const __half* __restrict__ a,
                                                               const __half* __restrict__ b,
                                                               float* __restrict__ c, int m, int n,
                                                               int k) {
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
    const int row = blockIdx.y * 64 + warp / 2 * 32 + lane / 4;
    const int column = blockIdx.x * 64 + warp % 2 * 32 + lane / 4;
    float acc[2][4][4] = {};
    for (int i = 0; i < k; i += 16) {
        const int at = i + lane % 4 * 2;
        uint32_t left[2][4];
#pragma unroll
        for (int r = 0; r < 2; ++r) {
#pragma unroll
            for (int q = 0; q < 4; ++q) {
                left[r][q] = *reinterpret_cast<const uint32_t*>(
                    a + (size_t)(row + r * 16 + q % 2 * 8) * k + at + q / 2 * 8);
            }
        }
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            const __half* from = b + (size_t)(column + s * 8) * k + at;
            const uint32_t b0 = *reinterpret_cast<const uint32_t*>(from);
            const uint32_t b1 = *reinterpret_cast<const uint32_t*>(from + 8);
#pragma unroll
            for (int r = 0; r < 2; ++r) mma_half(acc[r][s], left[r], b0, b1);
        }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            float* to = c + (size_t)(row + r * 16) * n + blockIdx.x * 64 + warp % 2 * 32 + s * 8 +
                        lane % 4 * 2;
            *reinterpret_cast<float2*>(to) = make_float2(acc[r][s][0], acc[r][s][1]);
            *reinterpret_cast<float2*>(to + 8 * n) = make_float2(acc[r][s][2], acc[r][s][3]);
        }
    }
}

// kWarpsM x kWarpsN warps of 32 x 64 outputs over shared tiles 32 columns deep.
template <int kWarpsM, int kWarpsN, int kPad, int kStages>
__device__ __forceinline__ void hgemm_shared_tiles(const __half* a, const __half* b, float* c, int m,
                                                   int n, int k, __half* shared) {
    constexpr int kDepth = 32, kPitch = kDepth + kPad, kThreads = kWarpsM * kWarpsN * 32;
    constexpr int kRows = kWarpsM * 32, kColumns = kWarpsN * 64;
    constexpr int kStage = (kRows + kColumns) * kPitch;
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int wm = warp / kWarpsN * 32, wn = warp % kWarpsN * 64;
    float acc[2][8][4] = {};
    const auto fetch = [&](int tile, __half* stage) {
#pragma unroll
        for (int i = t; i < (kRows + kColumns) * 4; i += kThreads) {
            const int row = i / 4, part = i % 4 * 8;
            const __half* from = row < kRows
                                     ? a + (size_t)(blockIdx.y * kRows + row) * k
                                     : b + (size_t)(blockIdx.x * kColumns + row - kRows) * k;
            __half* to = stage + row * kPitch + part;
            if constexpr (kStages > 1) {
                copy_async_16(to, from + tile + part);
            } else {
                *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from + tile + part);
            }
        }
    };
    const auto multiply = [&](const __half* stage) {
#pragma unroll
        for (int i = 0; i < kDepth; i += 16) {
            uint32_t left[2][4], right[4][4];
#pragma unroll
            for (int r = 0; r < 2; ++r)
                load_matrices(left[r], stage + (wm + r * 16 + lane % 16) * kPitch + i + lane / 16 * 8);
#pragma unroll
            for (int s = 0; s < 4; ++s)
                load_matrices(right[s], stage + (kRows + wn + s * 16 + lane / 16 * 8 + lane % 8) * kPitch +
                                            i + lane / 8 % 2 * 8);
#pragma unroll
            for (int r = 0; r < 2; ++r)
#pragma unroll
                for (int s = 0; s < 8; ++s)
                    mma_half(acc[r][s], left[r], right[s / 2][s % 2 * 2], right[s / 2][s % 2 * 2 + 1]);
        }
    };
    if constexpr (kStages == 1) {
        for (int tile = 0; tile < k; tile += kDepth) {
            fetch(tile, shared);
            __syncthreads();
            multiply(shared);
            __syncthreads();
        }
    } else {
#pragma unroll
        for (int s = 0; s < kStages - 1; ++s) {
            fetch(s * kDepth, shared + s * kStage);
            copy_commit();
        }
        int now = 0;
        for (int tile = 0; tile < k; tile += kDepth) {
            copy_wait<kStages - 2>();
            __syncthreads();
            const int next = tile + (kStages - 1) * kDepth;
            if (next < k) fetch(next, shared + (now + kStages - 1) % kStages * kStage);
            copy_commit();
            multiply(shared + now * kStage);
            now = now + 1 == kStages ? 0 : now + 1;
        }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
        for (int s = 0; s < 8; ++s) {
            float* to = c + (size_t)(blockIdx.y * kRows + wm + r * 16 + lane / 4) * n +
                        blockIdx.x * kColumns + wn + s * 8 + lane % 4 * 2;
            *reinterpret_cast<float2*>(to) = make_float2(acc[r][s][0], acc[r][s][1]);
            *reinterpret_cast<float2*>(to + 8 * n) = make_float2(acc[r][s][2], acc[r][s][3]);
        }
    }
}

#define HGEMM(name, warps_m, warps_n, pad, stages)                                             \
    extern "C" __global__ void __launch_bounds__(warps_m* warps_n * 32)                        \
        name(const __half* __restrict__ a, const __half* __restrict__ b, float* __restrict__ c, \
             int m, int n, int k) {                                                            \
        extern __shared__ __align__(128) __half shared[];                                      \
        hgemm_shared_tiles<warps_m, warps_n, pad, stages>(a, b, c, m, n, k, shared);           \
    }

HGEMM(hgemm_conflict, 2, 2, 0, 1)   // rows of 64 bytes: ldmatrix meets the same banks
HGEMM(hgemm_padded, 2, 2, 8, 1)     // rows of 80 bytes
HGEMM(hgemm_async, 2, 2, 8, 2)      // two stages of cp.async
HGEMM(hgemm_deep, 2, 2, 8, 4)       // four stages
HGEMM(hgemm_large, 4, 2, 8, 3)      // 128 x 128 outputs, eight warps
