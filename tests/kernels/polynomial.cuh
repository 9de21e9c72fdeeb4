// A small dense product kept in registers, evaluated again and again: the body of the spill pair.

#pragma once

constexpr int kState = 40;

__device__ __forceinline__ void evolve(float* __restrict__ y, const float* __restrict__ x, int steps,
                                       int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    float state[kState];
#pragma unroll
    for (int j = 0; j < kState; ++j) {
        state[j] = x[static_cast<size_t>(j) * n + i];
    }
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        const float drive = x[static_cast<size_t>(step % kState) * n + i];
        float next = drive;
#pragma unroll
        for (int j = 0; j < kState; ++j) {
            next += state[j] * state[(j + 7) % kState];
        }
#pragma unroll
        for (int j = 0; j < kState - 1; ++j) {
            state[j] = state[j + 1] * 0.5f + next * 0.25f;
        }
        state[kState - 1] = next;
    }
#pragma unroll
    for (int j = 0; j < kState; ++j) {
        y[static_cast<size_t>(j) * n + i] = state[j];
    }
}
