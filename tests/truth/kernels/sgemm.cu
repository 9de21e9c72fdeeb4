// C[M,N] = A[M,K] * B[K,N] in FP32, row-major: a ladder from one thread per element to register tiles.

extern "C" __global__ void sgemm_naive(const float* __restrict__ a, const float* __restrict__ b,
                                       float* __restrict__ c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// Neighbouring threads take neighbouring rows: every access of A and C is strided.
extern "C" __global__ void sgemm_uncoalesced(const float* __restrict__ a,
                                             const float* __restrict__ b, float* __restrict__ c,
                                             int m, int n, int k) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    const int column = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    float sum = 0.0f;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

extern "C" __global__ void sgemm_tiled(const float* __restrict__ a, const float* __restrict__ b,
                                       float* __restrict__ c, int m, int n, int k) {
    __shared__ float as[32][32], bs[32][32];
    const int x = threadIdx.x, y = threadIdx.y;
    const int row = blockIdx.y * 32 + y, column = blockIdx.x * 32 + x;
    float sum = 0.0f;
    for (int tile = 0; tile < k; tile += 32) {
        as[y][x] = a[row * k + tile + x];
        bs[y][x] = b[(tile + y) * n + column];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 32; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    if (row < m && column < n) c[row * n + column] = sum;
}

constexpr int kTile = 128, kDepth = 8, kPer = 8;

__device__ __forceinline__ void multiply_tile(float (&acc)[kPer][kPer],
                                              const float (&as)[kDepth][kTile],
                                              const float (&bs)[kDepth][kTile], int ty, int tx) {
#pragma unroll
    for (int i = 0; i < kDepth; ++i) {
        float left[kPer], right[kPer];
#pragma unroll
        for (int r = 0; r < kPer; ++r) left[r] = as[i][ty * kPer + r];
#pragma unroll
        for (int r = 0; r < kPer; ++r) right[r] = bs[i][tx * 4 + (r / 4) * 64 + r % 4];
#pragma unroll
        for (int r = 0; r < kPer; ++r)
#pragma unroll
            for (int s = 0; s < kPer; ++s) acc[r][s] += left[r] * right[s];
    }
}

__device__ __forceinline__ void write_tile(float* c, const float (&acc)[kPer][kPer], int row,
                                           int column, int n) {
#pragma unroll
    for (int r = 0; r < kPer; ++r)
#pragma unroll
        for (int s = 0; s < kPer; ++s)
            c[(row + r) * n + column + (s / 4) * 64 + s % 4] = acc[r][s];
}

// 128 x 128 x 8 tile, 8 x 8 results per thread, scalar loads in a loop.
extern "C" __global__ void __launch_bounds__(256) sgemm_register(const float* __restrict__ a,
                                                                 const float* __restrict__ b,
                                                                 float* __restrict__ c, int m, int n,
                                                                 int k) {
    __shared__ float as[kDepth][kTile], bs[kDepth][kTile];
    const int t = threadIdx.x, ty = t / 16, tx = t % 16;
    float acc[kPer][kPer] = {};
    for (int tile = 0; tile < k; tile += kDepth) {
        for (int i = t; i < kTile * kDepth; i += 256) {
            as[i % kDepth][i / kDepth] = a[(blockIdx.y * kTile + i / kDepth) * k + tile + i % kDepth];
            bs[i / kTile][i % kTile] = b[(tile + i / kTile) * n + blockIdx.x * kTile + i % kTile];
        }
        __syncthreads();
        multiply_tile(acc, as, bs, ty, tx);
        __syncthreads();
    }
    write_tile(c, acc, blockIdx.y * kTile + ty * kPer, blockIdx.x * kTile + tx * 4, n);
}

// The same with one 16-byte load per matrix and thread.
extern "C" __global__ void __launch_bounds__(256) sgemm_vector(const float* __restrict__ a,
                                                               const float* __restrict__ b,
                                                               float* __restrict__ c, int m, int n,
                                                               int k) {
    __shared__ float as[kDepth][kTile], bs[kDepth][kTile];
    const int t = threadIdx.x, ty = t / 16, tx = t % 16;
    float acc[kPer][kPer] = {};
    const float4* from_a =
        reinterpret_cast<const float4*>(a + (blockIdx.y * kTile + t / 2) * k + t % 2 * 4);
    const float4* from_b =
        reinterpret_cast<const float4*>(b + (t / 32) * n + blockIdx.x * kTile + t % 32 * 4);
    for (int tile = 0; tile < k; tile += kDepth) {
        const float4 left = *from_a, right = *from_b;
        as[t % 2 * 4 + 0][t / 2] = left.x;
        as[t % 2 * 4 + 1][t / 2] = left.y;
        as[t % 2 * 4 + 2][t / 2] = left.z;
        as[t % 2 * 4 + 3][t / 2] = left.w;
        *reinterpret_cast<float4*>(&bs[t / 32][t % 32 * 4]) = right;
        __syncthreads();
        multiply_tile(acc, as, bs, ty, tx);
        __syncthreads();
        from_a += kDepth / 4;
        from_b += kDepth * n / 4;
    }
    write_tile(c, acc, blockIdx.y * kTile + ty * kPer, blockIdx.x * kTile + tx * 4, n);
}

// The same with two buffers: the next tile is fetched while this one is multiplied.
extern "C" __global__ void __launch_bounds__(256) sgemm_double(const float* __restrict__ a,
                                                               const float* __restrict__ b,
                                                               float* __restrict__ c, int m, int n,
                                                               int k) {
    __shared__ float as[2][kDepth][kTile], bs[2][kDepth][kTile];
    const int t = threadIdx.x, ty = t / 16, tx = t % 16;
    float acc[kPer][kPer] = {};
    const float4* from_a =
        reinterpret_cast<const float4*>(a + (blockIdx.y * kTile + t / 2) * k + t % 2 * 4);
    const float4* from_b =
        reinterpret_cast<const float4*>(b + (t / 32) * n + blockIdx.x * kTile + t % 32 * 4);
    float4 left = *from_a, right = *from_b;
    int now = 0;
    for (int tile = 0; tile < k; tile += kDepth) {
        as[now][t % 2 * 4 + 0][t / 2] = left.x;
        as[now][t % 2 * 4 + 1][t / 2] = left.y;
        as[now][t % 2 * 4 + 2][t / 2] = left.z;
        as[now][t % 2 * 4 + 3][t / 2] = left.w;
        *reinterpret_cast<float4*>(&bs[now][t / 32][t % 32 * 4]) = right;
        __syncthreads();
        if (tile + kDepth < k) {
            from_a += kDepth / 4;
            from_b += kDepth * n / 4;
            left = *from_a;
            right = *from_b;
        }
        multiply_tile(acc, as[now], bs[now], ty, tx);
        now ^= 1;
    }
    write_tile(c, acc, blockIdx.y * kTile + ty * kPer, blockIdx.x * kTile + tx * 4, n);
}
