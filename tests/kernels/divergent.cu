// Escape-time iteration, then one of two long paths by a bit of the data: lanes of a warp part ways.

extern "C" __global__ void __launch_bounds__(256)
    divergent(float* __restrict__ y, const float* __restrict__ x, int n, int limit) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i >= n) {
        return;
    }
    float z = x[i];
    const float c = z;
    int steps = 0;
#pragma unroll 1
    while (z * z < 4.0f && steps < limit) {
        if (__float_as_int(z) & 64) {
            z = rsqrtf(z * z + 1.0f) + c;
            z = __sinf(z) * z + c;
            z = z * 1.5f - z * z * 0.125f;
        } else {
            z = z * z + c;
            z = __cosf(z) - z * 0.25f;
            z = __expf(z * 0.01f) * z;
        }
        ++steps;
    }
    y[i] = z + steps;
}
