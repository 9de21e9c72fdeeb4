// A device function that is not inlined, called once per iteration: CALL and RET in the loop.

__device__ __noinline__ float hash(float x, float y, int rounds) {
    float h = x;
#pragma unroll 1
    for (int i = 0; i < rounds; ++i) {
        h = h * 1.25f + y;
        y = y * 0.5f - h;
    }
    return h + y;
}

extern "C" __global__ void __launch_bounds__(256)
    device_call(float* __restrict__ y, const float* __restrict__ x, int n, int steps, int rounds) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
        sum += hash(x[static_cast<size_t>(k) * n + i], sum, rounds);
    }
    y[i] = sum;
}
