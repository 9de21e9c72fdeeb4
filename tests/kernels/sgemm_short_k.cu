// sgemm, tile 64 x 64 x 8 with 128 threads: two barriers for every eight columns.

#include "sgemm.cuh"

using Shape = SgemmShape<64, 64, 8, 8, 4>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads)
    sgemm_short_k(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                  int M, int N, int K) {
    __shared__ __align__(16) float a_tile[Shape::kTileK][Shape::kPitchA];
    __shared__ __align__(16) float b_tile[Shape::kTileK][Shape::kTileN];
    sgemm_single_buffer<Shape>(c, a, b, N, K, a_tile, b_tile);
}
