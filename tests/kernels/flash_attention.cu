// Flash attention, K and V tiles staged through registers into one buffer: nothing overlaps.

#include "flash_attention.cuh"

extern "C" __global__ void __launch_bounds__(flash::kThreads, 2)
    flash_attention(__half* __restrict__ o, const __half* __restrict__ q,
                    const __half* __restrict__ k, const __half* __restrict__ v, int seq_len) {
    using namespace flash;
    __shared__ __align__(16) __half k_tile[kTileHalves];
    __shared__ __align__(16) __half v_tile[kTileHalves];
    const size_t head = static_cast<size_t>(blockIdx.y) * seq_len * kHead;
    const size_t first_row = static_cast<size_t>(blockIdx.x) * kRows * kHead;

    State state;
    load_q(state, q + head + first_row, k_tile);

    const int row = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
    const __half* k_from = k + head + row * kHead + column;
    const __half* v_from = v + head + row * kHead + column;
#pragma unroll 1
    for (int first = 0; first < seq_len; first += kRows) {
        uint4 k_staged[kPasses];
        uint4 v_staged[kPasses];
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            k_staged[pass] = *reinterpret_cast<const uint4*>(k_from + pass * 16 * kHead);
            v_staged[pass] = *reinterpret_cast<const uint4*>(v_from + pass * 16 * kHead);
        }
        __syncthreads();  // the previous tile is no longer read
#pragma unroll
        for (int pass = 0; pass < kPasses; ++pass) {
            const int at = (row + pass * 16) * kPitch + column;
            *reinterpret_cast<uint4*>(k_tile + at) = k_staged[pass];
            *reinterpret_cast<uint4*>(v_tile + at) = v_staged[pass];
        }
        __syncthreads();
        tile(state, k_tile, v_tile);
        k_from += kRows * kHead;
        v_from += kRows * kHead;
    }
    store(state, o + head + first_row);
}
