// sgemm, tile 128 x 128 x 8, 8 x 8 sums per thread: 512 FFMA per K tile and thread from 4 LDS.128 a
// column. Limited by the FP32 pipe.

#include "sgemm.cuh"

using Shape = SgemmShape<128, 128, 8, 8, 8>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 2)
    sgemm_register(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                   int M, int N, int K) {
    __shared__ __align__(16) float a_tile[Shape::kTileK][Shape::kPitchA];
    __shared__ __align__(16) float b_tile[Shape::kTileK][Shape::kTileN];
    sgemm_single_buffer<Shape>(c, a, b, N, K, a_tile, b_tile);
}
