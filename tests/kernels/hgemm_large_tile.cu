// hgemm_staged with a warp tile of 64 x 64 and a block tile of 128 x 128 x 32: twice the products
// per operand byte, 128 accumulators per thread.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 4, 8, 1>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads)
    hgemm_large_tile(float* __restrict__ c, const __half* __restrict__ a,
                     const __half* __restrict__ b, int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, 0, K, tiles);
}
