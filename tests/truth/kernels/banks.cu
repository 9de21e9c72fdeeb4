// One memory instruction each, with the byte offset of every lane given as data: which patterns
// conflict in shared memory and in L1, and what copies past L1 ask of L2.

#include "tensor.cuh"

// Offsets of 32 lanes; every warp uses the same ones. `rounds` executions per warp.
#define BANK_LOAD(name, type, width, text, ...)                                                   \
    extern "C" __global__ void __launch_bounds__(256) bank_##name(                                \
        const unsigned* offsets, unsigned* out, const unsigned* data, int rounds) {               \
        __shared__ __align__(128) unsigned char room[16384];                                      \
        for (int i = threadIdx.x; i < 4096; i += 256) reinterpret_cast<unsigned*>(room)[i] = i;    \
        __syncthreads();                                                                          \
        const unsigned at = shared_pointer(room) + offsets[threadIdx.x % 32];                     \
        unsigned sum = 0;                                                                         \
        for (int r = 0; r < rounds; ++r) {                                                        \
            unsigned v[width];                                                                    \
            asm volatile(text : __VA_ARGS__ : "r"(at));                                           \
            for (int j = 0; j < width; ++j) sum += v[j];                                          \
        }                                                                                         \
        out[blockIdx.x * 256 + threadIdx.x] = sum;                                                \
    }

BANK_LOAD(lds, float, 1, "ld.shared.u32 %0, [%1];", "=r"(v[0]))
BANK_LOAD(lds64, float2, 2, "ld.shared.v2.u32 {%0,%1}, [%2];", "=r"(v[0]), "=r"(v[1]))
BANK_LOAD(lds128, float4, 4, "ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];", "=r"(v[0]), "=r"(v[1]),
          "=r"(v[2]), "=r"(v[3]))

#define BANK_STORE(name, text)                                                                    \
    extern "C" __global__ void __launch_bounds__(256) bank_##name(                                \
        const unsigned* offsets, unsigned* out, const unsigned* data, int rounds) {               \
        __shared__ __align__(128) unsigned char room[16384];                                      \
        const unsigned at = shared_pointer(room) + offsets[threadIdx.x % 32];                     \
        for (int r = 0; r < rounds; ++r) asm volatile(text ::"r"(at), "r"(r));                    \
        __syncthreads();                                                                          \
        out[blockIdx.x * 256 + threadIdx.x] = reinterpret_cast<unsigned*>(room)[threadIdx.x];     \
    }

BANK_STORE(sts, "st.shared.u32 [%0], %1;")
BANK_STORE(sts64, "st.shared.v2.u32 [%0], {%1,%1};")
BANK_STORE(sts128, "st.shared.v4.u32 [%0], {%1,%1,%1,%1};")
BANK_STORE(atoms, "red.shared.add.u32 [%0], %1;")

#define BANK_GLOBAL(name, width, text, ...)                                                       \
    extern "C" __global__ void __launch_bounds__(256) bank_##name(                                \
        const unsigned* offsets, unsigned* out, const unsigned* data, int rounds) {               \
        const unsigned char* at =                                                                 \
            reinterpret_cast<const unsigned char*>(data) + offsets[threadIdx.x % 32];             \
        unsigned sum = 0;                                                                         \
        for (int r = 0; r < rounds; ++r) {                                                        \
            unsigned v[width];                                                                    \
            asm volatile(text : __VA_ARGS__ : "l"(at) : "memory");                                \
            for (int j = 0; j < width; ++j) sum += v[j];                                          \
        }                                                                                         \
        out[blockIdx.x * 256 + threadIdx.x] = sum;                                                \
    }

BANK_GLOBAL(ldg, 1, "ld.global.u32 %0, [%1];", "=r"(v[0]))
BANK_GLOBAL(ldg64, 2, "ld.global.v2.u32 {%0,%1}, [%2];", "=r"(v[0]), "=r"(v[1]))
BANK_GLOBAL(ldg128, 4, "ld.global.v4.u32 {%0,%1,%2,%3}, [%4];", "=r"(v[0]), "=r"(v[1]), "=r"(v[2]),
            "=r"(v[3]))

// cp.async of 16 bytes: offsets 0 to 31 in shared memory, 32 to 63 in global memory; every warp and
// round takes another 64 KB, so that no two SMs ask for the same line.
template <bool kBypass>
__device__ __forceinline__ void bank_copy(const unsigned* offsets, unsigned* out,
                                          const unsigned* data, int rounds) {
    extern __shared__ __align__(128) unsigned char room[];
    const unsigned lane = threadIdx.x % 32, warp = (blockIdx.x * 256 + threadIdx.x) / 32;
    const unsigned to = shared_pointer(room) + threadIdx.x / 32 * 4096 + offsets[lane];
    const unsigned char* from = reinterpret_cast<const unsigned char*>(data) + offsets[32 + lane];
    for (int r = 0; r < rounds; ++r) {
        const unsigned long long place = (unsigned long long)((warp * 61u + r * 7919u) & 1023u) << 16;
        if (kBypass)
            asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from + place));
        else
            asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from + place));
        copy_commit();
        copy_wait<4>();
    }
    copy_wait<0>();
    __syncthreads();
    out[blockIdx.x * 256 + threadIdx.x] = reinterpret_cast<unsigned*>(room)[threadIdx.x];
}

extern "C" __global__ void __launch_bounds__(256) bank_copy_bypass(
    const unsigned* offsets, unsigned* out, const unsigned* data, int rounds) {
    bank_copy<true>(offsets, out, data, rounds);
}

extern "C" __global__ void __launch_bounds__(256) bank_copy_access(
    const unsigned* offsets, unsigned* out, const unsigned* data, int rounds) {
    bank_copy<false>(offsets, out, data, rounds);
}
