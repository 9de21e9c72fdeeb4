// fp64_literal with f32 literals.

extern "C" __global__ void __launch_bounds__(256)
    fp32_literal(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float z = x[i];
#pragma unroll 4
    for (int k = 0; k < steps; ++k) {
        z = z * 0.999f + 0.1f * z * z - 0.05f;
    }
    y[i] = z;
}
