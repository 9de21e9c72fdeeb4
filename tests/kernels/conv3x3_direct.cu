// Direct 3 x 3 convolution, NCHW, stride 1, padding 1. One output per thread; image and weights are
// read from global memory for every product, so each pixel is read nine times per output channel.
// Weights are laid out KCRS.

extern "C" __global__ void __launch_bounds__(256)
    conv3x3_direct(float* __restrict__ y, const float* __restrict__ x, const float* __restrict__ w,
                   int C, int H, int W, int K) {
    const int column = blockIdx.x * 32 + threadIdx.x % 32;
    const int row = blockIdx.y * 8 + threadIdx.x / 32;
    const int k = blockIdx.z % K;
    const int image = blockIdx.z / K;
    if (row >= H || column >= W) {
        return;
    }
    float sum = 0.0f;
#pragma unroll 1
    for (int c = 0; c < C; ++c) {
        const float* plane = x + static_cast<size_t>(image * C + c) * H * W;
        const float* taps = w + static_cast<size_t>(k * C + c) * 9;
#pragma unroll
        for (int r = 0; r < 3; ++r) {
#pragma unroll
            for (int s = 0; s < 3; ++s) {
                const int from_row = row + r - 1, from_column = column + s - 1;
                if (from_row >= 0 && from_row < H && from_column >= 0 && from_column < W) {
                    sum += plane[from_row * W + from_column] * taps[r * 3 + s];
                }
            }
        }
    }
    y[(static_cast<size_t>(image * K + k) * H + row) * W + column] = sum;
}
