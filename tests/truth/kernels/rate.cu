// Plain arithmetic at full rate, and the same operation as one chain in few warps.

#include <cuda_fp16.h>

extern "C" __global__ void rate_float(float* __restrict__ out, int rounds) {
    float v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = threadIdx.x + j;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = v[j] * 1.0001f + 0.25f;
    }
    float sum = 0.0f;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += v[j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void rate_half(__half2* __restrict__ out, int rounds) {
    __half2 v[8];
    const __half2 by = __floats2half2_rn(0.999f, 0.998f), plus = __floats2half2_rn(0.25f, 0.5f);
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = __float2half2_rn(threadIdx.x + j);
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = __hfma2(v[j], by, plus);
    }
    __half2 sum = v[0];
#pragma unroll
    for (int j = 1; j < 8; ++j) sum = __hadd2(sum, v[j]);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void rate_double(double* __restrict__ out, int rounds) {
    double v[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) v[j] = threadIdx.x + j;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 8; ++j) v[j] = v[j] * 1.0001 + 0.25;
    }
    double sum = 0.0;
#pragma unroll
    for (int j = 0; j < 8; ++j) sum += v[j];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void rate_chain(float* __restrict__ out, int rounds) {
    float v = threadIdx.x;
    for (int r = 0; r < rounds; ++r) v = v * 1.0001f + 0.25f;
    out[blockIdx.x * blockDim.x + threadIdx.x] = v;
}

// Two independent chains: half of the wait is filled.
extern "C" __global__ void rate_pair(float* __restrict__ out, int rounds) {
    float v = threadIdx.x, w = threadIdx.x + 1.0f;
    for (int r = 0; r < rounds / 2; ++r) {
        v = v * 1.0001f + 0.25f;
        w = w * 1.0001f + 0.25f;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = v + w;
}
