// saxpy as it should be: four 16-byte pairs in flight per thread. The copy ceiling is its measure.

extern "C" __global__ void __launch_bounds__(256)
    saxpy_wide(float4* __restrict__ y, const float4* __restrict__ x, float a, int count) {
    int first = blockIdx.x * 1024 + threadIdx.x;
    float4 v[4], w[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        int i = first + 256 * k;
        v[k] = i < count ? x[i] : float4{};
        w[k] = i < count ? y[i] : float4{};
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        int i = first + 256 * k;
        float4 sum = {a * v[k].x + w[k].x, a * v[k].y + w[k].y, a * v[k].z + w[k].z, a * v[k].w + w[k].w};
        if (i < count) y[i] = sum;
    }
}
