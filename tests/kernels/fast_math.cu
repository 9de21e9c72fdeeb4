// precise_math with the approximations of the special function unit.

extern "C" __global__ void __launch_bounds__(256)
    fast_math(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float z = x[i];
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        const float e = __expf(-z * z);
        const float square = z * z + e;
        z = __fdividef(square * rsqrtf(square), 1.0f + e) + __logf(1.0f + e);
    }
    y[i] = z;
}
