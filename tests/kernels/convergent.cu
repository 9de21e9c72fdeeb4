// divergent with both paths computed and the result selected, and the same number of steps for all:
// no branch depends on the data.

extern "C" __global__ void __launch_bounds__(256)
    convergent(float* __restrict__ y, const float* __restrict__ x, int n, int limit) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float z = x[i];
    const float c = z;
    float taken = 0.0f;
#pragma unroll 1
    for (int step = 0; step < limit; ++step) {
        const bool inside = z * z < 4.0f;
        float odd = rsqrtf(z * z + 1.0f) + c;
        odd = __sinf(odd) * odd + c;
        odd = odd * 1.5f - odd * odd * 0.125f;
        float even = z * z + c;
        even = __cosf(even) - even * 0.25f;
        even = __expf(even * 0.01f) * even;
        const float next = __float_as_int(z) & 64 ? odd : even;
        z = inside ? next : z;
        taken += inside ? 1.0f : 0.0f;
    }
    y[i] = z + taken;
}
