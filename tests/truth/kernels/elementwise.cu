// One or two passes over long vectors.

#include <cuda_fp16.h>

extern "C" __global__ void elementwise_saxpy(float a, const float* __restrict__ x,
                                             float* __restrict__ y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}

extern "C" __global__ void elementwise_vector(float a, const float4* __restrict__ x,
                                              float4* __restrict__ y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 4) return;
    const float4 from = x[i];
    float4 to = y[i];
    to.x += a * from.x;
    to.y += a * from.y;
    to.z += a * from.z;
    to.w += a * from.w;
    y[i] = to;
}

// Grid-stride loop over bytes: the narrowest access there is.
extern "C" __global__ void elementwise_bytes(const unsigned char* __restrict__ x,
                                             unsigned char* __restrict__ y, int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        y[i] = 255 - x[i];
}

// The same, 16 bytes per access.
extern "C" __global__ void elementwise_bytes16(const uint4* __restrict__ x, uint4* __restrict__ y,
                                               int n) {
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n / 16; i += gridDim.x * blockDim.x) {
        uint4 v = x[i];
        v.x = ~v.x;
        v.y = ~v.y;
        v.z = ~v.z;
        v.w = ~v.w;
        y[i] = v;
    }
}

extern "C" __global__ void elementwise_gelu(const __half2* __restrict__ x, __half2* __restrict__ y,
                                            int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n / 2) return;
    float2 v = __half22float2(x[i]);
    v.x = 0.5f * v.x * (1.0f + tanhf(0.79788456f * (v.x + 0.044715f * v.x * v.x * v.x)));
    v.y = 0.5f * v.y * (1.0f + tanhf(0.79788456f * (v.y + 0.044715f * v.y * v.y * v.y)));
    y[i] = __float22half2_rn(v);
}
