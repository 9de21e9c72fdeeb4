// hgemm_staged with the K loop split over blockIdx.z; each part writes its own partial C, to be added
// by a second kernel. Fills the GPU when M and N are small and K is large.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 1>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 4)
    hgemm_split_k(float* __restrict__ partial, const __half* __restrict__ a,
                  const __half* __restrict__ b, int M, int N, int K, int k_per_part) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    const int k_first = blockIdx.z * k_per_part;
    float* c = partial + static_cast<size_t>(blockIdx.z) * M * N;
    hgemm_output_tile<Shape>(c, a, b, N, K, blockIdx.y, blockIdx.x, k_first, k_first + k_per_part,
                             tiles);
}
