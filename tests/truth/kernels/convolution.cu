// Direct 3 x 3 convolution, FP32, NCHW, stride 1, padding 1; weights [K, C, 3, 3].

__device__ __forceinline__ float pixel(const float* plane, int y, int x, int h, int w) {
    return y >= 0 && y < h && x >= 0 && x < w ? plane[y * w + x] : 0.0f;
}

// One output value per thread.
extern "C" __global__ void convolution_direct(const float* __restrict__ in,
                                              const float* __restrict__ weight,
                                              float* __restrict__ out, int c, int k, int h, int w) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int image = blockIdx.z / k, filter = blockIdx.z % k;
    if (x >= w || y >= h) return;
    float sum = 0.0f;
    for (int i = 0; i < c; ++i) {
        const float* plane = in + (size_t)(image * c + i) * h * w;
        const float* tap = weight + (filter * c + i) * 9;
#pragma unroll
        for (int r = 0; r < 3; ++r)
#pragma unroll
            for (int s = 0; s < 3; ++s) sum += tap[r * 3 + s] * pixel(plane, y + r - 1, x + s - 1, h, w);
    }
    out[((size_t)(image * k + filter) * h + y) * w + x] = sum;
}

// Eight filters per thread: each input value is used eight times from a register.
extern "C" __global__ void convolution_filters(const float* __restrict__ in,
                                               const float* __restrict__ weight,
                                               float* __restrict__ out, int c, int k, int h, int w) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int image = blockIdx.z / (k / 8), filter = blockIdx.z % (k / 8) * 8;
    if (x >= w || y >= h) return;
    float sum[8] = {};
    for (int i = 0; i < c; ++i) {
        const float* plane = in + (size_t)(image * c + i) * h * w;
#pragma unroll
        for (int r = 0; r < 3; ++r)
#pragma unroll
            for (int s = 0; s < 3; ++s) {
                const float value = pixel(plane, y + r - 1, x + s - 1, h, w);
#pragma unroll
                for (int f = 0; f < 8; ++f)
                    sum[f] += weight[((filter + f) * c + i) * 9 + r * 3 + s] * value;
            }
    }
#pragma unroll
    for (int f = 0; f < 8; ++f)
        out[((size_t)(image * k + filter + f) * h + y) * w + x] = sum[f];
}

// The input patch of a 32 x 8 tile in shared memory, eight filters per thread.
extern "C" __global__ void __launch_bounds__(256)
    convolution_shared(const float* __restrict__ in, const float* __restrict__ weight,
                       float* __restrict__ out, int c, int k, int h, int w) {
    __shared__ float patch[10][34];
    __shared__ float taps[9][8];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 8 + threadIdx.y;
    const int image = blockIdx.z / (k / 8), filter = blockIdx.z % (k / 8) * 8;
    const int t = threadIdx.y * 32 + threadIdx.x;
    float sum[8] = {};
    for (int i = 0; i < c; ++i) {
        const float* plane = in + (size_t)(image * c + i) * h * w;
        for (int p = t; p < 340; p += 256)
            patch[p / 34][p % 34] =
                pixel(plane, blockIdx.y * 8 + p / 34 - 1, blockIdx.x * 32 + p % 34 - 1, h, w);
        if (t < 72) taps[t / 8][t % 8] = weight[((filter + t % 8) * c + i) * 9 + t / 8];
        __syncthreads();
#pragma unroll
        for (int r = 0; r < 3; ++r)
#pragma unroll
            for (int s = 0; s < 3; ++s) {
                const float value = patch[threadIdx.y + r][threadIdx.x + s];
#pragma unroll
                for (int f = 0; f < 8; ++f) sum[f] += taps[r * 3 + s][f] * value;
            }
        __syncthreads();
    }
    if (x < w && y < h)
#pragma unroll
        for (int f = 0; f < 8; ++f)
            out[((size_t)(image * k + filter + f) * h + y) * w + x] = sum[f];
}
