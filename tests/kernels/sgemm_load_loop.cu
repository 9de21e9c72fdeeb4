// sgemm, tile 64 x 64 x 16, 4 x 4 sums per thread; the tile load is itself a loop of four passes.
//
// Per K tile one warp executes 256 FFMA and, in the inner loop, 4 * 2 LDG of 4 bytes per thread.

namespace {

constexpr int kTile = 64;
constexpr int kTileK = 16;
constexpr int kThreads = 256;
constexpr int kPasses = kTile * kTileK / kThreads;

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    sgemm_load_loop(float* __restrict__ c, const float* __restrict__ a, const float* __restrict__ b,
                    int M, int N, int K) {
    __shared__ float a_tile[kTileK][kTile + 4];
    __shared__ float b_tile[kTileK][kTile];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
    const float* a_from = a + static_cast<size_t>(blockIdx.y * kTile + threadIdx.x / kTileK) * K +
                          threadIdx.x % kTileK;
    const float* b_from = b + static_cast<size_t>(threadIdx.x / kTile) * N + blockIdx.x * kTile +
                          threadIdx.x % kTile;
    float sum[4][4] = {};

#pragma unroll 1
    for (int k0 = 0; k0 < K; k0 += kTileK) {
#pragma unroll 1
        for (int pass = 0; pass < kPasses; ++pass) {
            a_tile[threadIdx.x % kTileK][threadIdx.x / kTileK + pass * 16] =
                a_from[static_cast<size_t>(pass * 16) * K + k0];
            b_tile[threadIdx.x / kTile + pass * 4][threadIdx.x % kTile] =
                b_from[static_cast<size_t>(k0 + pass * 4) * N];
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTileK; ++k) {
            float a_frag[4];
            float b_frag[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                a_frag[i] = a_tile[k][ty * 4 + i];
                b_frag[i] = b_tile[k][tx * 4 + i];
            }
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sum[i][j] += a_frag[i] * b_frag[j];
                }
            }
        }
        __syncthreads();
    }

#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            c[static_cast<size_t>(blockIdx.y * kTile + ty * 4 + i) * N + blockIdx.x * kTile +
              tx * 4 + j] = sum[i][j];
        }
    }
}
