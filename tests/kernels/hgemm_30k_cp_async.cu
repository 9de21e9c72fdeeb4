// hgemm_30k (tile 64 x 64 x 96) with cp.async into two buffers: 61,440 B of dynamic shared memory.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 3, Copy::kAsync, 2>;
static_assert(Shape::kSharedHalves * sizeof(__half) == 61440, "launch with this much");

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 1)
    hgemm_30k_cp_async(float* __restrict__ c, const __half* __restrict__ a,
                       const __half* __restrict__ b, int M, int N, int K) {
    extern __shared__ __align__(16) __half tiles[];
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, 0, K, tiles);
}
