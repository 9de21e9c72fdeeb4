// Inclusive prefix sums within blocks of 512.

// Double-buffered doubling steps with a barrier each.
extern "C" __global__ void __launch_bounds__(512) scan_steps(const float* __restrict__ in,
                                                             float* __restrict__ out, int n) {
    __shared__ float line[2][512];
    const int t = threadIdx.x, i = blockIdx.x * 512 + t;
    int now = 0;
    line[0][t] = i < n ? in[i] : 0.0f;
    __syncthreads();
    for (int d = 1; d < 512; d *= 2) {
        line[1 - now][t] = line[now][t] + (t >= d ? line[now][t - d] : 0.0f);
        now = 1 - now;
        __syncthreads();
    }
    if (i < n) out[i] = line[now][t];
}

// Shuffles within warps, one barrier pair across warps.
extern "C" __global__ void __launch_bounds__(512) scan_shuffle(const float* __restrict__ in,
                                                               float* __restrict__ out, int n) {
    __shared__ float totals[16];
    const int t = threadIdx.x, i = blockIdx.x * 512 + t, lane = t % 32;
    float v = i < n ? in[i] : 0.0f;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const float other = __shfl_up_sync(~0u, v, d);
        if (lane >= d) v += other;
    }
    if (lane == 31) totals[t / 32] = v;
    __syncthreads();
    float before = 0.0f;
    for (int w = 0; w < t / 32; ++w) before += totals[w];
    if (i < n) out[i] = v + before;
}
