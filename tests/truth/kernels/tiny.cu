// Launches too small to fill the chip.

extern "C" __global__ void tiny_saxpy(float a, const float* __restrict__ x, float* __restrict__ y,
                                      int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

// A product of two 256 x 256 matrices in 64 blocks.
extern "C" __global__ void tiny_gemm(const float* __restrict__ a, const float* __restrict__ b,
                                     float* __restrict__ c, int n) {
    __shared__ float as[32][32], bs[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int tile = 0; tile < n; tile += 32) {
        as[y][x] = a[row * n + tile + x];
        bs[y][x] = b[(tile + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

// One warp per block, one long dependence chain.
extern "C" __global__ void tiny_chain(float* __restrict__ out, int rounds) {
    float v = threadIdx.x * 0.001f;
    for (int r = 0; r < rounds; ++r) v = v * 0.999f + 0.5f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
