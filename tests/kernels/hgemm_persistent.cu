// hgemm_staged as a persistent kernel: a fixed grid, an outer loop over output tiles, the K loop in it.

#include "hgemm.cuh"

using Shape = HgemmShape<2, 2, 2, 4, 1>;

extern "C" __global__ void __launch_bounds__(Shape::kThreads, 4)
    hgemm_persistent(float* __restrict__ c, const __half* __restrict__ a,
                     const __half* __restrict__ b, int M, int N, int K) {
    __shared__ __align__(16) __half tiles[Shape::kSharedHalves];
    const int tiles_n = N / Shape::kTileN;
    const int tile_count = M / Shape::kTileM * tiles_n;
#pragma unroll 1
    for (int tile = blockIdx.x; tile < tile_count; tile += gridDim.x) {
        hgemm_output_tile<Shape>(c, a, b, N, K, tile / tiles_n, tile % tiles_n, 0, K, tiles);
    }
}
