// A loop body of about 5,000 instructions (80 KB), larger than the instruction caches.

extern "C" __global__ void __launch_bounds__(256)
    unrolled_far(float* __restrict__ y, const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    float state[16];
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        state[j] = x[i] + j;
    }
#pragma unroll 1
    for (int k = 0; k < steps; k += 312) {
#pragma unroll
        for (int j = 0; j < 312 * 16; ++j) {
            state[j % 16] = state[j % 16] * state[(j * 7 + 5) % 16] + state[(j * 3 + 1) % 16];
        }
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        sum += state[j];
    }
    y[i] = sum;
}
