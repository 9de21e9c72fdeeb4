// Transcendental functions, divisions and conversions: many per element read.

extern "C" __global__ void special_sine(const float* __restrict__ in, float* __restrict__ out, int n,
                                        int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i], sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        sum += __sinf(v) + __cosf(v * 1.5f);
        v += 0.25f;
    }
    out[i] = sum;
}

extern "C" __global__ void special_exponential(const float* __restrict__ in, float* __restrict__ out,
                                               int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i], sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        sum += expf(-v) * logf(1.5f + v);
        v += 0.125f;
    }
    out[i] = sum;
}

// Division and square root, rounded as IEEE asks.
extern "C" __global__ void special_divide(const float* __restrict__ in, float* __restrict__ out, int n,
                                          int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i] + 2.0f, sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        sum += sqrtf(v) / (v + 1.0f);
        v += 0.5f;
    }
    out[i] = sum;
}

// The same with the fast forms.
extern "C" __global__ void special_fast(const float* __restrict__ in, float* __restrict__ out, int n,
                                        int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i] + 2.0f, sum = 0.0f;
    for (int r = 0; r < rounds; ++r) {
        sum += __fdividef(v * rsqrtf(v), v + 1.0f);
        v += 0.5f;
    }
    out[i] = sum;
}

// Float to integer and back.
extern "C" __global__ void special_convert(const float* __restrict__ in, float* __restrict__ out,
                                           int n, int rounds) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float v = in[i] * 1000.0f;
    int sum = 0;
    for (int r = 0; r < rounds; ++r) {
        sum ^= __float2int_rn(v);
        v = (float)(sum & 0xffff) * 1.25f;
    }
    out[i] = (float)sum;
}
