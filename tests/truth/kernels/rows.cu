// Row-wise reductions of a matrix [rows, columns], FP32.

__device__ __forceinline__ float warp_sum(float v) {
#pragma unroll
    for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(~0u, v, d);
    return v;
}

// One block per row, tree over shared memory with a barrier per step.
extern "C" __global__ void rows_tree(const float* __restrict__ in, float* __restrict__ out,
                                     int columns) {
    __shared__ float part[256];
    const int t = threadIdx.x;
    float sum = 0.0f;
    for (int i = t; i < columns; i += 256) sum += in[(size_t)blockIdx.x * columns + i];
    part[t] = sum;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (t < d) part[t] += part[t + d];
        __syncthreads();
    }
    if (t == 0) out[blockIdx.x] = part[0];
}

// One warp per row, shuffles only.
extern "C" __global__ void rows_warp(const float* __restrict__ in, float* __restrict__ out, int rows,
                                     int columns) {
    const int row = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = lane; i < columns; i += 32) sum += in[(size_t)row * columns + i];
    sum = warp_sum(sum);
    if (lane == 0) out[row] = sum;
}

// One thread per row: neighbouring threads are a whole row apart.
extern "C" __global__ void rows_thread(const float* __restrict__ in, float* __restrict__ out,
                                       int rows, int columns) {
    const int row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float sum = 0.0f;
    for (int i = 0; i < columns; ++i) sum += in[(size_t)row * columns + i];
    out[row] = sum;
}
