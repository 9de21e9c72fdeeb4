// One dependent chain of FFMA per thread, one load in flight.

extern "C" __global__ void __launch_bounds__(64)
    chain(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float a = x[i];
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; k += 16) {
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            sum = sum * a + 1.0f;
        }
    }
    y[i] = sum;
}
