// C[M,N] = A[M,K] * B[K,N], f32, register-tiled: the body that the sgemm kernels share.
//
// A block computes kTileM x kTileN with (kTileM / kPerM) * (kTileN / kPerN) threads; each thread holds
// kPerM x kPerN sums. A is transposed on its way into shared memory so that both operands are read as
// float4. M, N and K are multiples of the tile.

#pragma once

template <int kTileM_, int kTileN_, int kTileK_, int kPerM_, int kPerN_>
struct SgemmShape {
    static constexpr int kTileM = kTileM_, kTileN = kTileN_, kTileK = kTileK_;
    static constexpr int kPerM = kPerM_, kPerN = kPerN_;
    static constexpr int kColumns = kTileN / kPerN;
    static constexpr int kThreads = kTileM / kPerM * kColumns;
    static constexpr int kLoadsA = kTileM * kTileK / 4 / kThreads;
    static constexpr int kLoadsB = kTileK * kTileN / 4 / kThreads;
    static constexpr int kPitchA = kTileM + 4;  // keeps the transposing stores apart
};

template <class S>
struct SgemmThread {
    float4 a_staged[S::kLoadsA];
    float4 b_staged[S::kLoadsB];
    float sum[S::kPerM][S::kPerN] = {};

    __device__ __forceinline__ void load(const float* a, const float* b, int N, int K) {
#pragma unroll
        for (int v = 0; v < S::kLoadsA; ++v) {
            const int at = threadIdx.x + v * S::kThreads;
            a_staged[v] = *reinterpret_cast<const float4*>(
                a + static_cast<size_t>(at / (S::kTileK / 4)) * K + at % (S::kTileK / 4) * 4);
        }
#pragma unroll
        for (int v = 0; v < S::kLoadsB; ++v) {
            const int at = threadIdx.x + v * S::kThreads;
            b_staged[v] = *reinterpret_cast<const float4*>(
                b + static_cast<size_t>(at / (S::kTileN / 4)) * N + at % (S::kTileN / 4) * 4);
        }
    }

    __device__ __forceinline__ void store(float (*a_tile)[S::kPitchA], float (*b_tile)[S::kTileN]) {
#pragma unroll
        for (int v = 0; v < S::kLoadsA; ++v) {
            const int at = threadIdx.x + v * S::kThreads;
            const int row = at / (S::kTileK / 4), column = at % (S::kTileK / 4) * 4;
            a_tile[column][row] = a_staged[v].x;
            a_tile[column + 1][row] = a_staged[v].y;
            a_tile[column + 2][row] = a_staged[v].z;
            a_tile[column + 3][row] = a_staged[v].w;
        }
#pragma unroll
        for (int v = 0; v < S::kLoadsB; ++v) {
            const int at = threadIdx.x + v * S::kThreads;
            *reinterpret_cast<float4*>(
                &b_tile[at / (S::kTileN / 4)][at % (S::kTileN / 4) * 4]) = b_staged[v];
        }
    }

    // The sums of one thread lie in groups of four, spread over the tile, so that the float4 reads of
    // a warp fall into different banks.
    static __device__ __forceinline__ int m_of(int i) {
        return i / 4 * (S::kTileM / (S::kPerM / 4)) + threadIdx.x / S::kColumns * 4 + i % 4;
    }
    static __device__ __forceinline__ int n_of(int j) {
        return j / 4 * (S::kTileN / (S::kPerN / 4)) + threadIdx.x % S::kColumns * 4 + j % 4;
    }

    __device__ __forceinline__ void multiply_column(const float* a_row, const float* b_row) {
        float a_frag[S::kPerM];
        float b_frag[S::kPerN];
#pragma unroll
        for (int i = 0; i < S::kPerM; i += 4) {
            *reinterpret_cast<float4*>(&a_frag[i]) =
                *reinterpret_cast<const float4*>(&a_row[m_of(i)]);
        }
#pragma unroll
        for (int j = 0; j < S::kPerN; j += 4) {
            *reinterpret_cast<float4*>(&b_frag[j]) =
                *reinterpret_cast<const float4*>(&b_row[n_of(j)]);
        }
#pragma unroll
        for (int i = 0; i < S::kPerM; ++i) {
#pragma unroll
            for (int j = 0; j < S::kPerN; ++j) {
                sum[i][j] += a_frag[i] * b_frag[j];
            }
        }
    }

    __device__ __forceinline__ void multiply(const float (*a_tile)[S::kPitchA],
                                             const float (*b_tile)[S::kTileN]) {
#pragma unroll
        for (int k = 0; k < S::kTileK; ++k) {
            multiply_column(a_tile[k], b_tile[k]);
        }
    }

    __device__ __forceinline__ void write(float* c, int N) const {
#pragma unroll
        for (int i = 0; i < S::kPerM; ++i) {
#pragma unroll
            for (int j = 0; j < S::kPerN; j += 4) {
                *reinterpret_cast<float4*>(c + static_cast<size_t>(m_of(i)) * N + n_of(j)) =
                    make_float4(sum[i][j], sum[i][j + 1], sum[i][j + 2], sum[i][j + 3]);
            }
        }
    }
};

// One buffer: load, store, barrier, multiply, barrier.
template <class S>
__device__ __forceinline__ void sgemm_single_buffer(float* __restrict__ c,
                                                    const float* __restrict__ a,
                                                    const float* __restrict__ b, int N, int K,
                                                    float (*a_tile)[S::kPitchA],
                                                    float (*b_tile)[S::kTileN]) {
    a += static_cast<size_t>(blockIdx.y) * S::kTileM * K;
    b += blockIdx.x * S::kTileN;
    c += static_cast<size_t>(blockIdx.y) * S::kTileM * N + blockIdx.x * S::kTileN;
    SgemmThread<S> thread;
#pragma unroll 1
    for (int k = 0; k < K; k += S::kTileK) {
        thread.load(a, b, N, K);
        __syncthreads();
        thread.store(a_tile, b_tile);
        __syncthreads();
        thread.multiply(a_tile, b_tile);
        a += S::kTileK;
        b += static_cast<size_t>(S::kTileK) * N;
    }
    thread.write(c, N);
}
