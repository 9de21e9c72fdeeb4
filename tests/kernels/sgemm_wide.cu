// sgemm, tile 128 x 256 x 8, 8 x 16 sums per thread: so many registers that one block of eight warps
// fits, two warps per scheduler. Independent FFMA must follow each other at once to keep the pipe busy.

#include "sgemm.cuh"

using Shape = SgemmShape<128, 256, 8, 8, 16>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 1)
    sgemm_wide(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
               int M, int N, int K) {
    __shared__ __align__(16) float a_tile[Shape::kTileK][Shape::kPitchA];
    __shared__ __align__(16) float b_tile[Shape::kTileK][Shape::kTileN];
    sgemm_single_buffer<Shape>(c, a, b, N, K, a_tile, b_tile);
}
