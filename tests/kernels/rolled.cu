// unrolled_remainder left rolled: a short body, one load in flight per operand.

extern "C" __global__ void __launch_bounds__(256)
    rolled(float* __restrict__ y, const float* __restrict__ a, const float* __restrict__ x, int n,
           int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        sum += a[static_cast<size_t>(k) * n + i] * x[k];
    }
    y[i] = sum;
}
