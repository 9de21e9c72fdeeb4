// histogram_global with a private histogram per block in shared memory, merged at the end.

extern "C" __global__ void __launch_bounds__(256)
    histogram_shared(unsigned* __restrict__ bins, const unsigned char* __restrict__ x, int n) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
#pragma unroll 1
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        atomicAdd(&own[x[i]], 1u);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}
