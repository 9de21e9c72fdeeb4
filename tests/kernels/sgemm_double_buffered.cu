// sgemm, tile 64 x 64 x 16, two buffers: the next tile is fetched into registers while this one is
// multiplied. A rolled remainder loop takes the last K % 16 columns straight from global memory.

#include "sgemm.cuh"

using Shape = SgemmShape<64, 64, 16, 4, 4>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads)
    sgemm_double_buffered(float* __restrict__ c, const float* __restrict__ a,
                          const float* __restrict__ b, int M, int N, int K) {
    __shared__ __align__(16) float a_tile[2][Shape::kTileK][Shape::kPitchA];
    __shared__ __align__(16) float b_tile[2][Shape::kTileK][Shape::kTileN];
    a += static_cast<size_t>(blockIdx.y) * Shape::kTileM * K;
    b += blockIdx.x * Shape::kTileN;
    c += static_cast<size_t>(blockIdx.y) * Shape::kTileM * N + blockIdx.x * Shape::kTileN;

    SgemmThread<Shape> thread;
    const int tiles = K / Shape::kTileK;
    int buffer = 0;
    if (tiles > 0) {
        thread.load(a, b, N, K);
        thread.store(a_tile[0], b_tile[0]);
        __syncthreads();
#pragma unroll 1
        for (int t = 1; t < tiles; ++t) {
            a += Shape::kTileK;
            b += static_cast<size_t>(Shape::kTileK) * N;
            thread.load(a, b, N, K);
            thread.multiply(a_tile[buffer], b_tile[buffer]);
            buffer ^= 1;
            thread.store(a_tile[buffer], b_tile[buffer]);
            __syncthreads();
        }
        thread.multiply(a_tile[buffer], b_tile[buffer]);
        a += Shape::kTileK;
        b += static_cast<size_t>(Shape::kTileK) * N;
    }
#pragma unroll 1
    for (int k = 0; k < K % Shape::kTileK; ++k) {
#pragma unroll
        for (int i = 0; i < Shape::kPerM; ++i) {
            const float a_value = a[static_cast<size_t>(thread.m_of(i)) * K + k];
#pragma unroll
            for (int j = 0; j < Shape::kPerN; ++j) {
                thread.sum[i][j] += a_value * b[static_cast<size_t>(k) * N + thread.n_of(j)];
            }
        }
    }
    thread.write(c, N);
}
