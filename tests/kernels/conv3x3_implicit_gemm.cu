// The convolution of conv3x3_direct as a matrix product that never writes its left-hand matrix:
// rows are pixels (N*H*W), columns output channels, the inner dimension is C*9. Tile 64 x 64 x 8,
// 4 x 4 sums per thread; C*9 is padded to a multiple of 8, K and H*W are multiples of 64.

namespace {

constexpr int kTile = 64;
constexpr int kTileK = 8;

}  // namespace

extern "C" __global__ void __launch_bounds__(256)
    conv3x3_implicit_gemm(float* __restrict__ y, const float* __restrict__ x,
                          const float* __restrict__ w, int C, int H, int W, int K) {
    __shared__ __align__(16) float pixel_tile[kTileK][kTile];
    __shared__ __align__(16) float weight_tile[kTileK][kTile];
    const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;

    // Every thread fetches two pixels' worth of one row of the tile, and two weights.
    const int load_row = threadIdx.x / 64;
    const int load_column = threadIdx.x % 64;
    const int pixel = blockIdx.x * kTile + load_column;
    const int image = pixel / (H * W);
    const int row = pixel % (H * W) / W;
    const int column = pixel % W;
    const int out_channel = blockIdx.y * kTile + load_column;

    float sum[4][4] = {};
#pragma unroll 1
    for (int k0 = 0; k0 < C * 9; k0 += kTileK) {
#pragma unroll
        for (int pass = 0; pass < 2; ++pass) {
            const int inner = k0 + load_row + pass * 4;
            const int c = inner / 9, tap = inner % 9;
            const int from_row = row + tap / 3 - 1, from_column = column + tap % 3 - 1;
            float value = 0.0f;
            if (from_row >= 0 && from_row < H && from_column >= 0 && from_column < W && c < C) {
                value = x[(static_cast<size_t>(image * C + c) * H + from_row) * W + from_column];
            }
            pixel_tile[load_row + pass * 4][load_column] = value;
            weight_tile[load_row + pass * 4][load_column] =
                c < C ? w[static_cast<size_t>(out_channel) * C * 9 + inner] : 0.0f;
        }
        __syncthreads();
#pragma unroll
        for (int k = 0; k < kTileK; ++k) {
            const float4 p = *reinterpret_cast<const float4*>(&pixel_tile[k][tx * 4]);
            const float4 q = *reinterpret_cast<const float4*>(&weight_tile[k][ty * 4]);
            const float pixels[4] = {p.x, p.y, p.z, p.w};
            const float weights[4] = {q.x, q.y, q.z, q.w};
#pragma unroll
            for (int i = 0; i < 4; ++i) {
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    sum[i][j] += weights[i] * pixels[j];
                }
            }
        }
        __syncthreads();
    }

    const int first = blockIdx.x * kTile + tx * 4;
    const int first_image = first / (H * W), within = first % (H * W);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        const size_t k = blockIdx.y * kTile + ty * 4 + i;
        *reinterpret_cast<float4*>(y + (first_image * static_cast<size_t>(K) + k) * H * W + within) =
            make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
    }
}
