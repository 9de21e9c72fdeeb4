// The work of chain as four independent chains that are added at the end.

extern "C" __global__ void __launch_bounds__(64)
    four_chains(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    const float a = x[i];
    float sum[4] = {};
#pragma unroll 1
    for (int k = 0; k < steps; k += 16) {
#pragma unroll
        for (int j = 0; j < 16; ++j) {
            sum[j % 4] = sum[j % 4] * a + 1.0f;
        }
    }
    y[i] = (sum[0] + sum[1]) + (sum[2] + sum[3]);
}
