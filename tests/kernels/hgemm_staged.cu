// hgemm, tile 64 x 64 x 32, staged through registers into one buffer of 10,240 B: nothing overlaps.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 1>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 4)
    hgemm_staged(float* __restrict__ c, const __half* __restrict__ a, const __half* __restrict__ b,
                 int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, 0, K, tiles);
}
