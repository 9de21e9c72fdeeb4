// Division, square root, exponential and sine in their accurate forms, with calls for rare cases.

extern "C" __global__ void __launch_bounds__(256)
    precise_math(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float z = x[i];
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        const float e = expf(-z * z);
        z = sqrtf(z * z + e) / (1.0f + e) + logf(1.0f + e);
    }
    y[i] = z;
}
