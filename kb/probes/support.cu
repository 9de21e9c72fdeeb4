// Helpers of `kneck bench`: fill arguments on the device, read through L2, do nothing.
//
// The values are defined here and in facts/measure/contents.py alike, so that an array on the
// GPU and the same array in the emulator hold the same numbers.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <stdint.h>

namespace {

// Mixes all 32 bits (the finalizer of MurmurHash3, public domain).
__device__ uint32_t mixed(uint64_t index, uint32_t seed) {
    uint32_t h = static_cast<uint32_t>(index) ^ static_cast<uint32_t>(index >> 32) * 0x9e3779b9u;
    h += seed;
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}

// Uniform in [-1, 1), a multiple of 2^-23: exact in float.
__device__ float uniform(uint64_t index, uint32_t seed) {
    return static_cast<float>(static_cast<int32_t>(mixed(index, seed) >> 8) - (1 << 23)) * 0x1p-23f;
}

template <typename T, typename Value>
__device__ void for_each(T* out, uint64_t count, Value value) {
    uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step)
        out[i] = value(i);
}

}  // namespace

#define FILL_FLOATS(name, type, convert)                                                        \
    extern "C" __global__ void fill_random_##name(type* out, uint64_t count, uint32_t seed,     \
                                                  uint64_t) {                                   \
        for_each(out, count, [=](uint64_t i) { return convert(uniform(i, seed)); });            \
    }                                                                                           \
    extern "C" __global__ void fill_iota_##name(type* out, uint64_t count, uint32_t, uint64_t) {\
        for_each(out, count, [=](uint64_t i) { return convert(static_cast<float>(i)); });       \
    }

__device__ __nv_fp8_storage_t to_e4m3(float x) {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3);
}
__device__ __nv_fp8_storage_t to_e5m2(float x) {
    return __nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2);
}
__device__ float same(float x) { return x; }
__device__ double wide(float x) { return x; }

FILL_FLOATS(f8, __nv_fp8_storage_t, to_e4m3)
FILL_FLOATS(bf8, __nv_fp8_storage_t, to_e5m2)
FILL_FLOATS(f16, __half, __float2half_rn)
FILL_FLOATS(bf16, __nv_bfloat16, __float2bfloat16_rn)
FILL_FLOATS(f32, float, same)
FILL_FLOATS(f64, double, wide)

// Narrow integers take all bits; 32 and 64 bits stay below `limit`, so that they can serve as
// indices.
#define FILL_INTEGERS(bits)                                                                     \
    extern "C" __global__ void fill_random_i##bits(uint##bits##_t* out, uint64_t count,         \
                                                   uint32_t seed, uint64_t limit) {             \
        for_each(out, count, [=](uint64_t i) {                                                  \
            uint32_t h = mixed(i, seed);                                                        \
            return static_cast<uint##bits##_t>(limit ? h % limit : h);                          \
        });                                                                                     \
    }                                                                                           \
    extern "C" __global__ void fill_iota_i##bits(uint##bits##_t* out, uint64_t count, uint32_t, \
                                                 uint64_t) {                                    \
        for_each(out, count, [=](uint64_t i) { return static_cast<uint##bits##_t>(i); });       \
    }

FILL_INTEGERS(8)
FILL_INTEGERS(16)
FILL_INTEGERS(32)
FILL_INTEGERS(64)

// One cycle through all of a power of two of elements: i -> (a i + c) mod n with a = 1 mod 4 and
// odd c has full period (Hull and Dobell 1962). Following out[i] visits every element.
#define FILL_CYCLE(bits)                                                                        \
    extern "C" __global__ void fill_cycle_i##bits(uint##bits##_t* out, uint64_t count,          \
                                                  uint32_t, uint64_t) {                         \
        for_each(out, count, [=](uint64_t i) {                                                  \
            return static_cast<uint##bits##_t>((i * 1664525u + 1013904223u) & (count - 1));     \
        });                                                                                     \
    }

FILL_CYCLE(32)
FILL_CYCLE(64)

#define FILL_VALUE(bits)                                                                        \
    extern "C" __global__ void fill_value_##bits(uint##bits##_t* out, uint64_t count, uint32_t, \
                                                 uint64_t value) {                              \
        for_each(out, count, [=](uint64_t) { return static_cast<uint##bits##_t>(value); });     \
    }

FILL_VALUE(8)
FILL_VALUE(16)
FILL_VALUE(32)
FILL_VALUE(64)

// Reads `count` 16-byte words, which pushes everything else out of L2 and leaves only clean lines
// there. The buffer holds zeros, so nothing is ever stored; the compiler cannot know that.
extern "C" __global__ void read_through(const uint4* data, uint64_t count, uint32_t, uint64_t) {
    uint32_t sum = 0;
    uint64_t step = static_cast<uint64_t>(gridDim.x) * blockDim.x;
    for (uint64_t i = static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count;
         i += step) {
        uint4 word = __ldcg(data + i);
        sum |= word.x | word.y | word.z | word.w;
    }
    if (sum != 0) const_cast<uint4*>(data)[0].x = sum;
}

// Keeps the GPU busy while the host queues the launches to be timed behind it.
extern "C" __global__ void spin(uint64_t nanoseconds) {
    uint64_t start, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(start));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - start < nanoseconds);
}

extern "C" __global__ void empty() {}
