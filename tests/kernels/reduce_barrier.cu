// Sum of n floats, 1,024 per block: a tree in shared memory with a barrier after every step.

extern "C" __global__ void __launch_bounds__(256)
    reduce_barrier(float* __restrict__ total, const float* __restrict__ x, int n) {
    __shared__ float sums[256];
    const int first = blockIdx.x * 1024 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        sum += first + i * 256 < n ? x[first + i * 256] : 0.0f;
    }
    sums[threadIdx.x] = sum;
    __syncthreads();
#pragma unroll 1
    for (int half = 128; half > 0; half /= 2) {
        if (threadIdx.x < half) {
            sums[threadIdx.x] += sums[threadIdx.x + half];
        }
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        atomicAdd(total, sums[0]);
    }
}
