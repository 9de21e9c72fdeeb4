// hgemm_staged with a needless barrier after every 16 columns.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 2, Copy::kStaged, 1, false, true>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 4)
    hgemm_many_barriers(float* __restrict__ c, const __half* __restrict__ a,
                        const __half* __restrict__ b, int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, 0, K, tiles);
}
