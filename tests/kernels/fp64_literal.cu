// f32 data, but the literals are doubles: every product is done in f64 and converted back.

extern "C" __global__ void __launch_bounds__(256)
    fp64_literal(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float z = x[i];
#pragma unroll 4
    for (int k = 0; k < steps; ++k) {
        z = z * 0.999 + 0.1 * z * z - 0.05;
    }
    y[i] = z;
}
