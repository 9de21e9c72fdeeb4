// out[x][y] = in[y][x] for a matrix of n x n words, 32 x 32 tiles, 32 x 8 threads.

extern "C" __global__ void transpose_naive(const float* __restrict__ in, float* __restrict__ out,
                                           int n) {
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
    for (int j = 0; j < 32; j += 8) out[(size_t)x * n + y + j] = in[(size_t)(y + j) * n + x];
}

template <int kPitch>
__device__ __forceinline__ void transpose_tile(const float* in, float* out, int n) {
    __shared__ float tile[32][kPitch];
    const int x = threadIdx.x, y = threadIdx.y;
#pragma unroll
    for (int j = 0; j < 32; j += 8)
        tile[y + j][x] = in[(size_t)(blockIdx.y * 32 + y + j) * n + blockIdx.x * 32 + x];
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 32; j += 8)
        out[(size_t)(blockIdx.x * 32 + y + j) * n + blockIdx.y * 32 + x] = tile[x][y + j];
}

extern "C" __global__ void transpose_conflict(const float* __restrict__ in, float* __restrict__ out,
                                              int n) {
    transpose_tile<32>(in, out, n);
}

extern "C" __global__ void transpose_padded(const float* __restrict__ in, float* __restrict__ out,
                                            int n) {
    transpose_tile<33>(in, out, n);
}
