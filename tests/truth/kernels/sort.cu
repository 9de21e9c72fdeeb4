// Bitonic sort of 2048 keys per block in shared memory.

extern "C" __global__ void __launch_bounds__(1024) sort_bitonic(unsigned* __restrict__ keys) {
    __shared__ unsigned line[2048];
    unsigned* own = keys + (size_t)blockIdx.x * 2048;
    line[threadIdx.x] = own[threadIdx.x];
    line[threadIdx.x + 1024] = own[threadIdx.x + 1024];
    for (unsigned size = 2; size <= 2048; size *= 2) {
        for (unsigned stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const unsigned low = 2 * threadIdx.x - (threadIdx.x & (stride - 1));
            const bool up = (threadIdx.x & (size / 2)) == 0;
            const unsigned a = line[low], b = line[low + stride];
            if ((a > b) == up) {
                line[low] = b;
                line[low + stride] = a;
            }
        }
    }
    __syncthreads();
    own[threadIdx.x] = line[threadIdx.x];
    own[threadIdx.x + 1024] = line[threadIdx.x + 1024];
}
