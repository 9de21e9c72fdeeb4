// Bandwidth, request rates and latency of the memory path: DRAM, L2, L1, shared memory, atomics.

#include "probe.cuh"

namespace {

__device__ inline uint64_t first() { return static_cast<uint64_t>(blockIdx.x) * blockDim.x + threadIdx.x; }
__device__ inline uint64_t step() { return static_cast<uint64_t>(gridDim.x) * blockDim.x; }
__device__ inline uint32_t folded(uint4 v) { return v.x ^ v.y ^ v.z ^ v.w; }

__device__ inline uint4 load_l2(const uint4* p) {  // past L1
    uint4 v;
    asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ inline uint4 load_l1(const uint4* p) {
    uint4 v;
    asm volatile("ld.global.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
}
__device__ inline uint32_t load_l2(const uint32_t* p) {
    uint32_t v;
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}
__device__ inline uint32_t load_l1(const uint32_t* p) {
    uint32_t v;
    asm volatile("ld.global.u32 %0, [%1];" : "=r"(v) : "l"(p));
    return v;
}

}  // namespace

// DRAM: `bytes` are read or written `iterations` times; eight 16-byte accesses in flight a thread.
PROBE(dram_read) {
    const uint4* words = static_cast<const uint4*>(data);
    uint64_t count = bytes / 16, stride = step();
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint64_t i = first();
        for (; i + 7 * stride < count; i += 8 * stride) {
            uint4 v[8];
#pragma unroll
            for (int k = 0; k < 8; ++k) v[k] = load_l2(words + i + k * stride);
#pragma unroll
            for (int k = 0; k < 8; ++k) sum ^= folded(v[k]);
        }
        for (; i < count; i += stride) sum ^= folded(load_l2(words + i));
    }
    clock.stop(stamps);
    keep(sum, data);
}

PROBE(dram_write) {
    uint4* words = static_cast<uint4*>(data);
    uint64_t count = bytes / 16, stride = step();
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint32_t x = static_cast<uint32_t>(n) * 0x01010101u + threadIdx.x;
        uint4 v = {x, x + 1, x + 2, x + 3};
#pragma unroll 4
        for (uint64_t i = first(); i < count; i += stride) words[i] = v;
    }
    clock.stop(stamps);
}

// The first half of the buffer goes to the second.
PROBE(dram_copy) {
    const uint4* from = static_cast<const uint4*>(data);
    uint64_t count = bytes / 32, stride = step();
    uint4* to = static_cast<uint4*>(data) + count;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint64_t i = first();
        for (; i + 3 * stride < count; i += 4 * stride) {
            uint4 v[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) v[k] = load_l2(from + i + k * stride);
#pragma unroll
            for (int k = 0; k < 4; ++k) to[i + k * stride] = v[k];
        }
        for (; i < count; i += stride) to[i] = load_l2(from + i);
    }
    clock.stop(stamps);
}

// The same in tiles: a block moves 64 B of every thread's before it goes on, so that it stays within
// a few DRAM pages at a time. With or without the hint that the data will not be used again.
template <bool streaming>
__device__ void copy_tiles(Stamp* stamps, uint64_t iterations, void* data, uint64_t bytes) {
    const uint4* from = static_cast<const uint4*>(data);
    uint64_t count = bytes / 32, tile = 4ull * blockDim.x, tiles = count / tile;
    uint4* to = static_cast<uint4*>(data) + count;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        for (uint64_t t = blockIdx.x; t < tiles; t += gridDim.x) {
            uint64_t i = t * tile + threadIdx.x;
            uint4 v[4];
#pragma unroll
            for (int k = 0; k < 4; ++k)
                v[k] = streaming ? __ldcs(from + i + k * blockDim.x) : load_l2(from + i + k * blockDim.x);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                if (streaming) __stcs(to + i + k * blockDim.x, v[k]);
                else to[i + k * blockDim.x] = v[k];
            }
        }
    }
    clock.stop(stamps);
}
PROBE(dram_copy_tiles) { copy_tiles<false>(stamps, iterations, data, bytes); }
PROBE(dram_copy_streaming) { copy_tiles<true>(stamps, iterations, data, bytes); }

// L2: a buffer that fits there is read or written again and again. Each warp handles one group of
// lines at a time; the groups of a warp lie `step` apart, so that all slices are busy.
//
// lines: 4-byte access per lane, lanes 128 B apart: 32 lines of one sector each.
// pairs: lanes 64 B apart: 16 lines of two sectors each.
template <int lane_bytes>
__device__ void l2_scattered_read(Stamp* stamps, uint64_t iterations, void* data, uint64_t bytes) {
    const char* base = static_cast<const char*>(data);
    uint64_t mask = bytes - 1;  // a power of two
    uint64_t at = first() * lane_bytes & mask, jump = step() * lane_bytes;
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint32_t v[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            v[k] = load_l2(reinterpret_cast<const uint32_t*>(base + at));
            at = at + jump & mask;
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) sum ^= v[k];
    }
    clock.stop(stamps);
    keep(sum, data);
}
PROBE(l2_read_lines) { l2_scattered_read<128>(stamps, iterations, data, bytes); }
PROBE(l2_read_pairs) { l2_scattered_read<64>(stamps, iterations, data, bytes); }

PROBE(l2_read_full) {
    const char* base = static_cast<const char*>(data);
    uint64_t mask = bytes - 1, at = first() * 16 & mask, jump = step() * 16;
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint4 v[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            v[k] = load_l2(reinterpret_cast<const uint4*>(base + at));
            at = at + jump & mask;
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) sum ^= folded(v[k]);
    }
    clock.stop(stamps);
    keep(sum, data);
}

template <typename T, int lane_bytes>
__device__ void l2_write(Stamp* stamps, uint64_t iterations, void* data, uint64_t bytes, T value) {
    char* base = static_cast<char*>(data);
    uint64_t mask = bytes - 1, at = first() * lane_bytes & mask, jump = step() * lane_bytes;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            *reinterpret_cast<volatile T*>(base + at) = value;
            at = at + jump & mask;
        }
    }
    clock.stop(stamps);
}
PROBE(l2_write_lines) { l2_write<uint32_t, 128>(stamps, iterations, data, bytes, threadIdx.x); }
// A word a lane: one request of one whole line. Half of the lanes on each of two lines: two
// requests of two sectors.
PROBE(l2_write_words) { l2_write<uint32_t, 4>(stamps, iterations, data, bytes, threadIdx.x); }
PROBE(l2_write_halves) {
    char* base = static_cast<char*>(data);
    uint64_t mask = bytes - 1, i = first();
    uint64_t at = i / 16 * 128 + i % 16 * 4 & mask, jump = step() / 16 * 128;
    uint32_t x = threadIdx.x;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            *reinterpret_cast<volatile uint32_t*>(base + at) = x;
            at = at + jump & mask;
        }
    }
    clock.stop(stamps);
}
PROBE(l2_read_words) { l2_scattered_read<4>(stamps, iterations, data, bytes); }
PROBE(l2_write_full) {
    char* base = static_cast<char*>(data);
    uint64_t mask = bytes - 1, at = first() * 16 & mask, jump = step() * 16;
    uint32_t x = threadIdx.x;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            asm volatile("st.global.cg.v4.u32 [%0], {%1,%1,%1,%1};" ::"l"(base + at), "r"(x) : "memory");
            at = at + jump & mask;
        }
    }
    clock.stop(stamps);
}

// LDGSTS, 16 bytes a lane. lanes: how many neighbouring lanes share a line; 8 take all four
// sectors of it, 4 two, 2 one. Each group of copies is awaited before the one after next.
#if __CUDA_ARCH__ >= 800
template <int lanes, bool through_l1>
__device__ void async_copy(Stamp* stamps, uint64_t iterations, void* data, uint64_t bytes) {
    __shared__ uint4 target[8][256];
    const char* base = static_cast<const char*>(data);
    uint64_t mask = bytes - 1, i = first();
    uint64_t at = i / lanes * 128 + i % lanes * 16 & mask, jump = step() / lanes * 128;
    uint32_t to = static_cast<uint32_t>(__cvta_generic_to_shared(&target[0][threadIdx.x]));
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if (through_l1)
                asm volatile("cp.async.ca.shared.global [%0], [%1], 16;" ::"r"(to + k * 4096),
                             "l"(base + at) : "memory");
            else
                asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to + k * 4096),
                             "l"(base + at) : "memory");
            at = at + jump & mask;
        }
        asm volatile("cp.async.commit_group;\ncp.async.wait_group 1;" ::: "memory");
    }
    asm volatile("cp.async.wait_all;" ::: "memory");
    clock.stop(stamps);
    keep(target[0][threadIdx.x].x, data);
}
PROBE(ldgsts_4_sectors) { async_copy<8, false>(stamps, iterations, data, bytes); }
PROBE(ldgsts_2_sectors) { async_copy<4, false>(stamps, iterations, data, bytes); }
PROBE(ldgsts_1_sector) { async_copy<2, false>(stamps, iterations, data, bytes); }
PROBE(ldgsts_through_l1) { async_copy<8, true>(stamps, iterations, data, bytes); }
#endif

// L1: every block reads its own 32 KB again and again.
template <typename T, int lane_bytes>
__device__ void l1_read(Stamp* stamps, uint64_t iterations, void* data) {
    constexpr uint32_t part = 32768;
    const char* base = static_cast<const char*>(data) + static_cast<uint64_t>(blockIdx.x) * part;
    uint32_t at = threadIdx.x * lane_bytes % part, sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        T v[8];
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            v[k] = load_l1(reinterpret_cast<const T*>(base + at));
            at = (at + 4096) % part;
        }
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if constexpr (sizeof(T) == 16) sum ^= folded(v[k]);
            else sum ^= v[k];
        }
        at = (at + 512) % part;
    }
    clock.stop(stamps);
    keep(sum, data);
}
PROBE(l1_read_full) { l1_read<uint4, 16>(stamps, iterations, data); }
PROBE(l1_read_words) { l1_read<uint32_t, 4>(stamps, iterations, data); }
PROBE(l1_read_lines) { l1_read<uint32_t, 128>(stamps, iterations, data); }

// Shared memory. ways: lanes that hit one bank.
template <int words_apart>
__device__ void shared_read(Stamp* stamps, uint64_t iterations, void* data) {
    __shared__ uint32_t cells[8192];
    for (int i = threadIdx.x; i < 8192; i += blockDim.x) cells[i] = 0;
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) +
                  (threadIdx.x & 31) * words_apart * 4, sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint32_t v[16];
#pragma unroll
        for (int k = 0; k < 16; ++k)
            asm volatile("ld.volatile.shared.u32 %0, [%1];" : "=r"(v[k]) : "r"(at + 4 * k));
#pragma unroll
        for (int k = 0; k < 16; ++k) sum ^= v[k];
    }
    clock.stop(stamps);
    keep(sum, data);
}
PROBE(cost_lds) { shared_read<1>(stamps, iterations, data); }
PROBE(cost_lds_2_ways) { shared_read<2>(stamps, iterations, data); }
PROBE(cost_lds_32_ways) { shared_read<32>(stamps, iterations, data); }

PROBE(cost_lds_64) {
    __shared__ uint2 cells[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) cells[i] = {0, 0};
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) + (threadIdx.x & 31) * 8;
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            uint32_t v, w;
            asm volatile("ld.volatile.shared.v2.u32 {%0,%1}, [%2];" : "=r"(v), "=r"(w) : "r"(at + 8 * k));
            sum ^= v ^ w;
        }
    }
    clock.stop(stamps);
    keep(sum, data);
}

PROBE(cost_lds_128) {
    __shared__ uint4 cells[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) cells[i] = {0, 0, 0, 0};
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) + (threadIdx.x & 31) * 16;
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            uint4 v;
            asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at + 16 * k));
            sum ^= folded(v);
        }
    }
    clock.stop(stamps);
    keep(sum, data);
}

PROBE(cost_ldsm) {
    __shared__ uint4 cells[2048];
    for (int i = threadIdx.x; i < 2048; i += blockDim.x) cells[i] = {0, 0, 0, 0};
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) + (threadIdx.x & 31) * 16;
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            uint4 v;
            asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                         : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at + 16 * k));
            sum ^= folded(v);
        }
    }
    clock.stop(stamps);
    keep(sum, data);
}

PROBE(cost_sts) {
    __shared__ uint32_t cells[4096];
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) + (threadIdx.x & 31) * 4;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 16; ++k)
            asm volatile("st.shared.u32 [%0], %1;" ::"r"(at + 4 * k), "r"(threadIdx.x) : "memory");
    }
    clock.stop(stamps);
    keep(cells[threadIdx.x], data);
}

PROBE(cost_sts_128) {
    __shared__ uint4 cells[2048];
    uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) + (threadIdx.x & 31) * 16;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 16; ++k)
            asm volatile("st.shared.v4.u32 [%0], {%1,%1,%1,%1};" ::"r"(at + 16 * k), "r"(threadIdx.x)
                         : "memory");
    }
    clock.stop(stamps);
    keep(cells[threadIdx.x].x, data);
}

// Atomics to one word or to a word per lane. That all lanes have the same address is hidden from
// the compiler, which would add up the warp first.
__device__ inline uint32_t zero(const void* data) {
    return static_cast<const uint32_t*>(data)[2 + threadIdx.x % 32] == 0x9e3779b9u;
}

#define SHARED_ATOMIC(name, spread)                                                            \
    PROBE(name) {                                                                              \
        __shared__ uint32_t cells[1024];                                                       \
        cells[threadIdx.x & 1023] = 0;                                                         \
        uint32_t at = static_cast<uint32_t>(__cvta_generic_to_shared(cells)) +                 \
                      ((threadIdx.x & spread) + zero(data)) * 4;                               \
        Clock clock;                                                                           \
        _Pragma("unroll 1") for (uint64_t n = 0; n < iterations; ++n) {                        \
            _Pragma("unroll") for (int k = 0; k < 8; ++k)                                      \
                asm volatile("red.shared.add.u32 [%0], %1;" ::"r"(at), "r"(k + 2) : "memory"); \
        }                                                                                      \
        clock.stop(stamps);                                                                    \
        keep(cells[0], data);                                                                  \
    }
SHARED_ATOMIC(atoms_one_address, 0)
SHARED_ATOMIC(atoms_many_addresses, 31)

PROBE(red_one_address) {
    uint32_t* word = static_cast<uint32_t*>(data) + 256 + zero(data);
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 8; ++k)
            asm volatile("red.global.add.u32 [%0], %1;" ::"l"(word), "r"(k + 2) : "memory");
    }
    clock.stop(stamps);
}

template <int lane_bytes>
__device__ void reductions(Stamp* stamps, uint64_t iterations, void* data, uint64_t bytes) {
    char* base = static_cast<char*>(data);
    uint64_t mask = bytes - 1, at = first() * lane_bytes & mask, jump = step() * lane_bytes;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            asm volatile("red.global.add.u32 [%0], %1;" ::"l"(base + at), "r"(threadIdx.x) : "memory");
            at = at + jump & mask;
        }
    }
    clock.stop(stamps);
}
PROBE(red_many_addresses) { reductions<4>(stamps, iterations, data, bytes); }
PROBE(red_many_lines) { reductions<128>(stamps, iterations, data, bytes); }

PROBE(atom_one_address) {
    uint32_t* word = static_cast<uint32_t*>(data) + 256 + zero(data);
    uint32_t sum = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
        uint32_t old;
        asm volatile("atom.global.add.u32 %0, [%1], %2;" : "=r"(old) : "l"(word), "r"(3) : "memory");
        sum ^= old;
    }
    clock.stop(stamps);
    keep(sum, data);
}

// Latency: one thread follows addresses. The chain is written by chase_fill.
PROBE(chase_fill) {
    // Cell i, 128 bytes apart, holds the address of cell (a i + c) mod n: one cycle through all
    // (a = 1 mod 4, c odd, n a power of two), far enough apart that no prefetch helps.
    uint64_t count = bytes / 128;
    char* base = static_cast<char*>(data);
    for (uint64_t i = first(); i < count; i += step()) {
        uint64_t next = i * 1664525u + 1013904223u & count - 1;
        *reinterpret_cast<uint64_t*>(base + i * 128) = reinterpret_cast<uint64_t>(base + next * 128);
    }
    if (first() == 0) stamps[0] = {1, 1};
}

#define CHASE(name, instruction)                                                            \
    PROBE(name) {                                                                           \
        uint64_t at = reinterpret_cast<uint64_t>(data);                                     \
        if (threadIdx.x == 0)                                                               \
            for (uint64_t n = 0; n < bytes / 128; ++n)                                      \
                asm volatile(instruction : "=l"(at) : "l"(at));                             \
        Clock clock;                                                                        \
        if (threadIdx.x == 0) {                                                             \
            _Pragma("unroll 1") for (uint64_t n = 0; n < iterations; ++n) {                 \
                _Pragma("unroll") for (int k = 0; k < 32; ++k)                              \
                    asm volatile(instruction : "=l"(at) : "l"(at));                         \
            }                                                                               \
        }                                                                                   \
        clock.stop(stamps);                                                                 \
        keep(at, data);                                                                     \
    }
CHASE(latency_l1, "ld.global.u64 %0, [%1];")
CHASE(latency_l2, "ld.global.cg.u64 %0, [%1];")

// As above without the first round, for buffers far larger than L2.
PROBE(latency_dram) {
    uint64_t at = reinterpret_cast<uint64_t>(data);
    Clock clock;
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
            for (int k = 0; k < 32; ++k) asm volatile("ld.global.cg.u64 %0, [%1];" : "=l"(at) : "l"(at));
        }
    }
    clock.stop(stamps);
    keep(at, data);
}

PROBE(latency_lds) {
    __shared__ uint32_t cells[1024];
    uint32_t base = static_cast<uint32_t>(__cvta_generic_to_shared(cells));
    for (int i = threadIdx.x; i < 1024; i += blockDim.x) cells[i] = base + ((i * 33 + 32) & 1023) * 4;
    uint32_t at = base;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int k = 0; k < 32; ++k) asm volatile("ld.shared.u32 %0, [%1];" : "=r"(at) : "r"(at));
    }
    clock.stop(stamps);
    keep(at, data);
}

PROBE(latency_atom) {
    uint32_t* word = static_cast<uint32_t*>(data) + 256 + zero(data);
    uint32_t value = 0;
    Clock clock;
    if (threadIdx.x == 0) {
#pragma unroll 1
        for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
            for (int k = 0; k < 8; ++k)
                asm volatile("atom.global.add.u32 %0, [%1], %0;" : "+r"(value) : "l"(word) : "memory");
        }
    }
    clock.stop(stamps);
    keep(value, data);
}
