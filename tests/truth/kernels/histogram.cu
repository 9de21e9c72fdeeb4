// 256 bins of random bytes.

extern "C" __global__ void histogram_global(const unsigned char* __restrict__ in,
                                            unsigned* __restrict__ bins, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(bins + in[i], 1u);
}

extern "C" __global__ void histogram_shared(const unsigned char* __restrict__ in,
                                            unsigned* __restrict__ bins, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(own + in[i], 1u);
    __syncthreads();
    atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}

// Four bytes per load.
extern "C" __global__ void histogram_words(const unsigned* __restrict__ in,
                                           unsigned* __restrict__ bins, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 4; i += gridDim.x * blockDim.x) {
        const unsigned word = in[i];
        atomicAdd(own + (word & 255), 1u);
        atomicAdd(own + (word >> 8 & 255), 1u);
        atomicAdd(own + (word >> 16 & 255), 1u);
        atomicAdd(own + (word >> 24), 1u);
    }
    __syncthreads();
    atomicAdd(bins + threadIdx.x, own[threadIdx.x]);
}
