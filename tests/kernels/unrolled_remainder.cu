// A matrix-vector product whose loop nvcc unrolls by eight: a main loop and a remainder loop with the
// same instructions.

extern "C" __global__ void __launch_bounds__(256)
    unrolled_remainder(float* __restrict__ y, const float* __restrict__ a,
                       const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 8
    for (int k = 0; k < steps; ++k) {
        sum += a[static_cast<size_t>(k) * n + i] * x[k];
    }
    y[i] = sum;
}
