// Histogram of bytes into 256 bins: one atomic in global memory per element.

extern "C" __global__ void __launch_bounds__(256)
    histogram_global(unsigned* __restrict__ bins, const unsigned char* __restrict__ x, int n) {
#pragma unroll 1
    for (int i = blockIdx.x * 256 + threadIdx.x; i < n; i += gridDim.x * 256) {
        atomicAdd(&bins[x[i]], 1u);
    }
}
