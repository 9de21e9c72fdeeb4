// Sum of a long vector into one word.

// One global atomic per element.
extern "C" __global__ void reduction_atomic(const int* __restrict__ in, int* __restrict__ out,
                                            int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n && in[i] > 0) atomicAdd(out + (i & 31), in[i]);
}

// Grid-stride sum, then shuffles, then one atomic per block.
extern "C" __global__ void reduction_hierarchical(const int* __restrict__ in, int* __restrict__ out,
                                                  int n) {
    __shared__ int part[8];
    int sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        sum += in[i];
#pragma unroll
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll
        for (int i = 1; i < 8; ++i) sum += part[i];
        atomicAdd(out, sum);
    }
}

// One block for everything.
extern "C" __global__ void reduction_block(const int* __restrict__ in, int* __restrict__ out, int n) {
    __shared__ int part[256];
    int sum = 0;
    for (int i = threadIdx.x; i < n; i += 256) sum += in[i];
    part[threadIdx.x] = sum;
    __syncthreads();
    for (int d = 128; d > 0; d /= 2) {
        if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
        __syncthreads();
    }
    if (threadIdx.x == 0) out[0] = part[0];
}
