// Flash attention with cp.async into two buffers (36,864 B).

#include "flash_attention.cuh"

namespace {

__device__ __forceinline__ void fetch(__half* k_tile, __half* v_tile, const __half* k_from,
                                      const __half* v_from) {
    using namespace flash;
    const int row = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
        const int at = (row + pass * 16) * kPitch + column;
        cp_async_16(k_tile + at, k_from + pass * 16 * kHead);
        cp_async_16(v_tile + at, v_from + pass * 16 * kHead);
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(flash::kThreads, 2)
    flash_attention_cp_async(__half* __restrict__ o, const __half* __restrict__ q,
                             const __half* __restrict__ k, const __half* __restrict__ v,
                             int seq_len) {
    using namespace flash;
    __shared__ __align__(16) __half k_tile[2 * kTileHalves];
    __shared__ __align__(16) __half v_tile[2 * kTileHalves];
    const size_t head = static_cast<size_t>(blockIdx.y) * seq_len * kHead;
    const size_t first_row = static_cast<size_t>(blockIdx.x) * kRows * kHead;

    State state;
    load_q(state, q + head + first_row, k_tile);

    const size_t lane_from = head + threadIdx.x / 8 * kHead + threadIdx.x % 8 * 8;
    const __half* k_from = k + lane_from;
    const __half* v_from = v + lane_from;
    fetch(k_tile, v_tile, k_from, v_from);
    cp_async_commit();
    int stage = 0;
#pragma unroll 1
    for (int first = 0; first < seq_len; first += kRows) {
        cp_async_wait<0>();
        __syncthreads();
        if (first + kRows < seq_len) {
            k_from += kRows * kHead;
            v_from += kRows * kHead;
            const int next = (stage ^ 1) * kTileHalves;
            fetch(k_tile + next, v_tile + next, k_from, v_from);
        }
        cp_async_commit();
        tile(state, k_tile + stage * kTileHalves, v_tile + stage * kTileHalves);
        stage ^= 1;
    }
    store(state, o + head + first_row);
}
