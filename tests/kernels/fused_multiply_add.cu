// separate_multiply_add with one rounding: FFMA.

extern "C" __global__ void __launch_bounds__(256)
    fused_multiply_add(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    const float a = x[i];
    float sum[4] = {a, a + 1.0f, a + 2.0f, a + 3.0f};
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            sum[j % 4] = __fmaf_rn(sum[j % 4], a, 0.5f);
        }
    }
    y[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
