// C[M,N] = A[M,K] * B[K,N] in FP64 (the matrix version takes B as [N,K]).

#include "tensor.cuh"

extern "C" __global__ void dgemm_naive(const double* __restrict__ a, const double* __restrict__ b,
                                       double* __restrict__ c, int m, int n, int k) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n) return;
    double sum = 0.0;
    for (int i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
    c[row * n + column] = sum;
}

// 64 x 64 outputs, 4 x 4 per thread.
extern "C" __global__ void __launch_bounds__(256) dgemm_tiled(const double* __restrict__ a,
                                                              const double* __restrict__ b,
                                                              double* __restrict__ c, int m, int n,
                                                              int k) {
    __shared__ double as[16][65], bs[16][64];
    const int t = threadIdx.x, tx = t % 16, ty = t / 16;
    double acc[4][4] = {};
    for (int tile = 0; tile < k; tile += 16) {
#pragma unroll
        for (int i = t; i < 1024; i += 256) {
            as[i % 16][i / 16] = a[(blockIdx.y * 64 + i / 16) * k + tile + i % 16];
            bs[i / 64][i % 64] = b[(tile + i / 64) * n + blockIdx.x * 64 + i % 64];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; ++i) {
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int s = 0; s < 4; ++s) acc[r][s] += as[i][ty * 4 + r] * bs[i][tx + s * 16];
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s)
            c[(blockIdx.y * 64 + ty * 4 + r) * n + blockIdx.x * 64 + tx + s * 16] = acc[r][s];
}

// FP64 tensor cores, 64 x 64 outputs per block of 4 warps, each 32 x 32.
extern "C" __global__ void __launch_bounds__(128) dgemm_mma(const double* __restrict__ a,
                                                            const double* __restrict__ b,
                                                            double* __restrict__ c, int m, int n,
                                                            int k) {
    __shared__ double as[64][18], bs[64][18];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const int wm = warp / 2 * 32, wn = warp % 2 * 32;
    double acc[4][4][2] = {};
    for (int tile = 0; tile < k; tile += 16) {
#pragma unroll
        for (int i = t; i < 1024; i += 128) {
            as[i / 16][i % 16] = a[(blockIdx.y * 64 + i / 16) * k + tile + i % 16];
            bs[i / 16][i % 16] = b[(blockIdx.x * 64 + i / 16) * k + tile + i % 16];
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 16; i += 4) {
            double left[4], right[4];
#pragma unroll
            for (int r = 0; r < 4; ++r) left[r] = as[wm + r * 8 + lane / 4][i + lane % 4];
#pragma unroll
            for (int s = 0; s < 4; ++s) right[s] = bs[wn + s * 8 + lane / 4][i + lane % 4];
#pragma unroll
            for (int r = 0; r < 4; ++r)
#pragma unroll
                for (int s = 0; s < 4; ++s) mma_double(acc[r][s], left[r], right[s]);
        }
        __syncthreads();
    }
#pragma unroll
    for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s) {
            double* to = c + (size_t)(blockIdx.y * 64 + wm + r * 8 + lane / 4) * n + blockIdx.x * 64 +
                         wn + s * 8 + lane % 4 * 2;
            *reinterpret_cast<double2*>(to) = make_double2(acc[r][s][0], acc[r][s][1]);
        }
}
