// C[M,N] = A[M,K] * B[N,K]^T, f16 inputs, f32 output: the body that the hgemm kernels share.
//
// A tile of kSlabs * 32 columns is kept in slabs of 32 columns with rows padded to 40 halves (80 B),
// which ldmatrix reads without bank conflicts. M, N and K are multiples of the tile.

#pragma once

#include "mma.cuh"

enum class Copy {
    kStaged,    // global -> registers -> shared memory, one buffer, nothing overlaps
    kPrefetch,  // the same, but the next tile is fetched into registers while this one is used
    kAsync,     // cp.async into kStages buffers
};

// kWarpsM x kWarpsN warps; each computes kMmaM * 16 rows and kMmaN * 8 columns.
template <int kWarpsM_, int kWarpsN_, int kMmaM_, int kMmaN_, int kSlabs_, Copy kCopy_ = Copy::kStaged,
          int kStages_ = 1, bool kHalfAccumulate_ = false, bool kBarrierPerStep_ = false>
struct HgemmShape {
    static constexpr int kWarpsM = kWarpsM_, kWarpsN = kWarpsN_;
    static constexpr int kMmaM = kMmaM_, kMmaN = kMmaN_;
    static constexpr int kSlabs = kSlabs_, kSlab = 32, kPitch = kSlab + 8;
    static constexpr Copy kCopy = kCopy_;
    static constexpr int kStages = kStages_;
    static constexpr bool kHalfAccumulate = kHalfAccumulate_;
    static constexpr bool kBarrierPerStep = kBarrierPerStep_;
    static constexpr int kThreads = kWarpsM * kWarpsN * 32;
    static constexpr int kTileM = kWarpsM * kMmaM * 16;
    static constexpr int kTileN = kWarpsN * kMmaN * 8;
    static constexpr int kTileK = kSlabs * kSlab;
    static constexpr int kRowsPerPass = kThreads / 4;  // four 16-byte vectors make a slab's row
    static constexpr int kPassesA = kTileM / kRowsPerPass;
    static constexpr int kPassesB = kTileN / kRowsPerPass;
    static constexpr int kStageHalves = kSlabs * (kTileM + kTileN) * kPitch;
    static constexpr int kSharedHalves = kStages * kStageHalves;
};

template <class S>
struct HgemmThread {
    const __half* a_from;
    const __half* b_from;
    int K, row, column;
    uint4 a_staged[S::kSlabs][S::kPassesA];
    uint4 b_staged[S::kSlabs][S::kPassesB];

    __device__ __forceinline__ void load() {
#pragma unroll
        for (int slab = 0; slab < S::kSlabs; ++slab) {
#pragma unroll
            for (int pass = 0; pass < S::kPassesA; ++pass) {
                a_staged[slab][pass] = *reinterpret_cast<const uint4*>(
                    a_from + static_cast<size_t>(pass * S::kRowsPerPass) * K + slab * S::kSlab);
            }
#pragma unroll
            for (int pass = 0; pass < S::kPassesB; ++pass) {
                b_staged[slab][pass] = *reinterpret_cast<const uint4*>(
                    b_from + static_cast<size_t>(pass * S::kRowsPerPass) * K + slab * S::kSlab);
            }
        }
        a_from += S::kTileK;
        b_from += S::kTileK;
    }

    __device__ __forceinline__ __half* a_at(__half* stage, int slab, int r, int c) const {
        return stage + (slab * S::kTileM + r) * S::kPitch + c;
    }

    __device__ __forceinline__ __half* b_at(__half* stage, int slab, int r, int c) const {
        return stage + (S::kSlabs * S::kTileM + slab * S::kTileN + r) * S::kPitch + c;
    }

    __device__ __forceinline__ void store(__half* stage) const {
#pragma unroll
        for (int slab = 0; slab < S::kSlabs; ++slab) {
#pragma unroll
            for (int pass = 0; pass < S::kPassesA; ++pass) {
                *reinterpret_cast<uint4*>(a_at(stage, slab, row + pass * S::kRowsPerPass, column)) =
                    a_staged[slab][pass];
            }
#pragma unroll
            for (int pass = 0; pass < S::kPassesB; ++pass) {
                *reinterpret_cast<uint4*>(b_at(stage, slab, row + pass * S::kRowsPerPass, column)) =
                    b_staged[slab][pass];
            }
        }
    }

#if __CUDA_ARCH__ >= 800
    __device__ __forceinline__ void copy_async(__half* stage) {
#pragma unroll
        for (int slab = 0; slab < S::kSlabs; ++slab) {
#pragma unroll
            for (int pass = 0; pass < S::kPassesA; ++pass) {
                cp_async_16(
                    a_at(stage, slab, row + pass * S::kRowsPerPass, column),
                    a_from + static_cast<size_t>(pass * S::kRowsPerPass) * K + slab * S::kSlab);
            }
#pragma unroll
            for (int pass = 0; pass < S::kPassesB; ++pass) {
                cp_async_16(
                    b_at(stage, slab, row + pass * S::kRowsPerPass, column),
                    b_from + static_cast<size_t>(pass * S::kRowsPerPass) * K + slab * S::kSlab);
            }
        }
        a_from += S::kTileK;
        b_from += S::kTileK;
    }
#endif
};

template <bool kHalf>
struct Accumulator {
    float value[4] = {};
    __device__ __forceinline__ void mma(const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
        mma_16816(value, a, b0, b1);
    }
    __device__ __forceinline__ float2 pair(int i) const {
        return make_float2(value[i * 2], value[i * 2 + 1]);
    }
};

template <>
struct Accumulator<true> {
    uint32_t value[2] = {};
    __device__ __forceinline__ void mma(const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
        mma_16816_f16(value, a, b0, b1);
    }
    __device__ __forceinline__ float2 pair(int i) const {
        return __half22float2(*reinterpret_cast<const __half2*>(&value[i]));
    }
};

// All products of one K tile in shared memory.
template <class S>
__device__ __forceinline__ void hgemm_tile(
    Accumulator<S::kHalfAccumulate> (&acc)[S::kMmaM][S::kMmaN], const HgemmThread<S>& thread,
    __half* stage) {
    const int lane = threadIdx.x % 32;
    const int warp_m = threadIdx.x / 32 / S::kWarpsN * (S::kMmaM * 16);
    const int warp_n = threadIdx.x / 32 % S::kWarpsN * (S::kMmaN * 8);
    const int a_row = warp_m + lane % 16, a_column = lane / 16 * 8;
    const int b_row = warp_n + lane / 16 * 8 + lane % 8, b_column = lane / 8 % 2 * 8;
#pragma unroll
    for (int k = 0; k < S::kTileK; k += 16) {
        const int slab = k / S::kSlab, k_column = k % S::kSlab;
        uint32_t a_frag[S::kMmaM][4];
        uint32_t b_frag[S::kMmaN / 2][4];
#pragma unroll
        for (int i = 0; i < S::kMmaM; ++i) {
            ldmatrix_x4(a_frag[i], thread.a_at(stage, slab, a_row + i * 16, k_column + a_column));
        }
#pragma unroll
        for (int j = 0; j < S::kMmaN / 2; ++j) {
            ldmatrix_x4(b_frag[j], thread.b_at(stage, slab, b_row + j * 16, k_column + b_column));
        }
#pragma unroll
        for (int i = 0; i < S::kMmaM; ++i) {
#pragma unroll
            for (int j = 0; j < S::kMmaN; ++j) {
                acc[i][j].mma(a_frag[i], b_frag[j / 2][j % 2 * 2], b_frag[j / 2][j % 2 * 2 + 1]);
            }
        }
        if constexpr (S::kBarrierPerStep) {
            __syncthreads();  // not needed: the tile does not change between the steps
        }
    }
}

// One output tile at (tile_m, tile_n) over the columns [k_first, k_last) of A and B.
template <class S>
__device__ __forceinline__ void hgemm_output_tile(float* __restrict__ c,
                                                  const __half* __restrict__ a,
                                                  const __half* __restrict__ b, int N, int K,
                                                  int tile_m, int tile_n, int k_first, int k_last,
                                                  __half* shared) {
    HgemmThread<S> thread;
    thread.K = K;
    thread.row = threadIdx.x / 4;
    thread.column = threadIdx.x % 4 * 8;
    thread.a_from =
        a + static_cast<size_t>(tile_m * S::kTileM + thread.row) * K + thread.column + k_first;
    thread.b_from =
        b + static_cast<size_t>(tile_n * S::kTileN + thread.row) * K + thread.column + k_first;

    Accumulator<S::kHalfAccumulate> acc[S::kMmaM][S::kMmaN];

    if constexpr (S::kCopy == Copy::kStaged) {
#pragma unroll 1
        for (int k = k_first; k < k_last; k += S::kTileK) {
            thread.load();
            __syncthreads();  // the previous tile is no longer read
            thread.store(shared);
            __syncthreads();
            hgemm_tile(acc, thread, shared);
        }
    } else if constexpr (S::kCopy == Copy::kPrefetch) {
        thread.load();
        thread.store(shared);
        __syncthreads();
#pragma unroll 1
        for (int k = k_first + S::kTileK; k < k_last; k += S::kTileK) {
            thread.load();
            hgemm_tile(acc, thread, shared);
            __syncthreads();
            thread.store(shared);
            __syncthreads();
        }
        hgemm_tile(acc, thread, shared);
    } else {
#if __CUDA_ARCH__ >= 800
        int fetched = k_first;
#pragma unroll
        for (int stage = 0; stage < S::kStages - 1; ++stage) {
            if (fetched < k_last) {
                thread.copy_async(shared + stage * S::kStageHalves);
            }
            cp_async_commit();
            fetched += S::kTileK;
        }
        int stage = 0;
#pragma unroll 1
        for (int k = k_first; k < k_last; k += S::kTileK) {
            cp_async_wait<S::kStages - 2>();
            __syncthreads();
            if (fetched < k_last) {
                const int next = stage == 0 ? S::kStages - 1 : stage - 1;
                thread.copy_async(shared + next * S::kStageHalves);
            }
            cp_async_commit();
            fetched += S::kTileK;
            hgemm_tile(acc, thread, shared + stage * S::kStageHalves);
            stage = stage == S::kStages - 1 ? 0 : stage + 1;
        }
#endif
    }

    const int lane = threadIdx.x % 32;
    const int warp = threadIdx.x / 32;
    const int row = tile_m * S::kTileM + warp / S::kWarpsN * (S::kMmaM * 16) + lane / 4;
    const int column = tile_n * S::kTileN + warp % S::kWarpsN * (S::kMmaN * 8) + lane % 4 * 2;
#pragma unroll
    for (int i = 0; i < S::kMmaM; ++i) {
#pragma unroll
        for (int j = 0; j < S::kMmaN; ++j) {
            float* to = c + static_cast<size_t>(row + i * 16) * N + column + j * 8;
            *reinterpret_cast<float2*>(to) = acc[i][j].pair(0);
            *reinterpret_cast<float2*>(to + 8 * static_cast<size_t>(N)) = acc[i][j].pair(1);
        }
    }
}
