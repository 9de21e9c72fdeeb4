// hgemm_large_tile with f16 accumulators: twice the rate on GeForce parts, less accuracy.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 4, 8, 1, Copy::kStaged, 1, true>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads)
    hgemm_f16_accumulate(float* __restrict__ c, const __half* __restrict__ a,
                         const __half* __restrict__ b, int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, 0, K, tiles);
}
