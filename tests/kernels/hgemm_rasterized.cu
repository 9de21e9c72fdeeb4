// hgemm_cp_async with the blocks renumbered so that neighbours in time share tiles: blocks walk down
// groups of eight tile rows instead of along the whole width.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 1, Copy::kAsync, 2>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 4)
    hgemm_rasterized(float* __restrict__ c, const __half* __restrict__ a,
                     const __half* __restrict__ b, int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    constexpr int kGroup = 8;
    const int block = blockIdx.y * gridDim.x + blockIdx.x;
    const int per_group = kGroup * gridDim.x;
    const int tile_m = block / per_group * kGroup + block % kGroup;
    const int tile_n = block % per_group / kGroup;
    hgemm_output_tile<Shape>(c, a, b, N, K, tile_m, tile_n, 0, K, tiles);
}
