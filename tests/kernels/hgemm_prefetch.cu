// hgemm_staged with the next tile fetched into registers while this one is multiplied.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 1, Copy::kPrefetch>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 4)
    hgemm_prefetch(float* __restrict__ c, const __half* __restrict__ a, const __half* __restrict__ b,
                   int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, 0, K, tiles);
}
