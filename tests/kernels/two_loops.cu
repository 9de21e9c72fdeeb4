// Two symmetrical loops over two operand pairs: each carries the same compute and the same loads.

extern "C" __global__ void __launch_bounds__(256)
    two_loops(float* __restrict__ y, const float* __restrict__ a, const float* __restrict__ b,
              const float* __restrict__ c, const float* __restrict__ d, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float first = 0.0f, second = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        first += a[static_cast<size_t>(k) * n + i] * b[static_cast<size_t>(k) * n + i];
    }
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        second += c[static_cast<size_t>(k) * n + i] * d[static_cast<size_t>(k) * n + i];
    }
    y[i] = first * second;
}
