// A pipeline written out by hand: the prologue loads the first tile, each iteration loads the next one
// before it uses this one, the epilogue uses the last.

namespace {

constexpr int kTile = 8;

__device__ __forceinline__ void load(float (&tile)[kTile], const float* from, int n) {
#pragma unroll
    for (int j = 0; j < kTile; ++j) {
        tile[j] = from[static_cast<size_t>(j) * n];
    }
}

__device__ __forceinline__ void use(float (&sum)[4], const float (&tile)[kTile]) {
#pragma unroll
    for (int j = 0; j < kTile; ++j) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            sum[k] = sum[k] * tile[j] + tile[(j + k) % kTile];
        }
    }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    software_pipelined(float* __restrict__ y, const float* __restrict__ x, int n, int tiles) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float* from = x + i;
    float sum[4] = {};
    float now[kTile];
    float next[kTile];
    load(now, from, n);
#pragma unroll 1
    for (int t = 1; t < tiles; ++t) {
        from += static_cast<size_t>(kTile) * n;
        load(next, from, n);
        use(sum, now);
#pragma unroll
        for (int j = 0; j < kTile; ++j) {
            now[j] = next[j];
        }
    }
    use(sum, now);
    y[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
