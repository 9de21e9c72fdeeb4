// Contents of arrays before a measurement.

#include <cuda_fp16.h>

__device__ __forceinline__ unsigned hash(unsigned long long i) {
    unsigned h = (unsigned)i * 2654435761u + (unsigned)(i >> 32);
    h ^= h >> 15;
    h *= 2246822519u;
    h ^= h >> 13;
    h *= 3266489917u;
    return h ^ h >> 16;
}

#define FILL(name, type, value)                                                        \
    extern "C" __global__ void name(type* out, unsigned long long n, unsigned limit) {  \
        const unsigned long long step = (unsigned long long)gridDim.x * blockDim.x;     \
        for (unsigned long long i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) \
            out[i] = value;                                                            \
    }

FILL(fill_words, unsigned, hash(i))
FILL(fill_f32, float, (hash(i) >> 8) * 5.9604645e-8f)
FILL(fill_f16, __half, __float2half((hash(i) >> 8) * 5.9604645e-8f))
FILL(fill_f64, double, hash(i) * 2.3283064365386963e-10)
FILL(fill_below, unsigned, hash(i) % limit)
FILL(fill_cycle, unsigned, ((unsigned)i * 1664525u + 1013904223u) & (limit - 1))
