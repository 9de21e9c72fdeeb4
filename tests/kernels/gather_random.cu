// y[i] = x[index[i]]: every lane reads 4 bytes of a sector of its own.

extern "C" __global__ void __launch_bounds__(256)
    gather_random(float* __restrict__ y, const float* __restrict__ x, const int* __restrict__ index,
                  int n) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < n) {
        y[i] = x[index[i]];
    }
}
