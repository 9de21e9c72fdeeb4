// Issue cost, rate and latency of the tensor instructions that a warp issues itself (mma.sync).
//
// Four independent accumulators per warp; the operands alternate between a fragment and its
// negative, so that every product toggles the datapath and no accumulator grows. wgmma stands in
// wgmma.cu.

#include "probe.cuh"

#define ACCUMULATORS 4

// Fragments of random bits from `data`; `sign` flips the sign of each element of A.
template <int words>
__device__ void load(uint32_t (&fragment)[words], const void* data, int at, uint32_t sign) {
    const uint32_t* values = static_cast<const uint32_t*>(data);
#pragma unroll
    for (int i = 0; i < words; ++i)
        fragment[i] = values[(threadIdx.x * words + i + at) & 4095] ^ sign;
}

#define D4(c) "+r"(c[0]), "+r"(c[1]), "+r"(c[2]), "+r"(c[3])
#define D2(c) "+r"(c[0]), "+r"(c[1])
#define A4(a) "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3])
#define A2(a) "r"(a[0]), "r"(a[1])
#define F4(c) "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])

// name: of the operation; as, bs, cs: words of A, B and accumulator; type of the accumulator;
// sign: the bits that negate a word of A.
#define MMA(name, as, bs, cs, type, sign_bits, body)                                          \
    struct name {                                                                             \
        static constexpr int a_words = as, b_words = bs, c_words = cs;                        \
        static constexpr uint32_t sign = sign_bits;                                           \
        using C = type;                                                                       \
        static __device__ void apply(type (&c)[cs], const uint32_t (&a)[as],                  \
                                     const uint32_t (&b)[bs]) {                               \
            body                                                                              \
        }                                                                                     \
    };

template <typename Op, int accumulators, int repeat>
__device__ void run(Stamp* stamps, uint64_t iterations, void* data) {
    uint32_t a[2][Op::a_words], b[2][Op::b_words];
    load(a[0], data, 0, 0);
    load(a[1], data, 0, Op::sign);
    load(b[0], data, 777, 0);
    load(b[1], data, 1777, 0);
    typename Op::C c[accumulators][Op::c_words];
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
#pragma unroll
        for (int j = 0; j < Op::c_words; ++j) c[i][j] = 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < repeat; ++r)
#pragma unroll
            for (int i = 0; i < accumulators; ++i) Op::apply(c[i], a[r & 1], b[r >> 1 & 1]);
    }
    clock.stop(stamps);
#pragma unroll
    for (int i = 0; i < accumulators; ++i)
#pragma unroll
        for (int j = 0; j < Op::c_words; ++j) keep(c[i][j], data);
}

namespace op {

MMA(hmma_1688_f32, 2, 1, 4, float, 0x80008000u,
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};" : F4(c) : A2(a), "r"(b[0]));)
#if __CUDA_ARCH__ >= 800
MMA(hmma_16816_f32, 4, 2, 4, float, 0x80008000u,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};" : F4(c) : A4(a), A2(b));)
MMA(hmma_16816_f16, 4, 2, 2, uint32_t, 0x80008000u,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%3,%4,%5}, "
                 "{%6,%7}, {%0,%1};" : D2(c) : A4(a), A2(b));)
MMA(hmma_16816_bf16, 4, 2, 4, float, 0x80008000u,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : F4(c) : A4(a), A2(b));)
MMA(hmma_1684_tf32, 2, 1, 4, float, 0x80000000u,
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5}, "
                 "{%6}, {%0,%1,%2,%3};" : F4(c) : A2(a), "r"(b[0]));)
MMA(hmma_1688_tf32, 4, 2, 4, float, 0x80000000u,
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : F4(c) : A4(a), A2(b));)
MMA(imma_16816, 2, 1, 4, uint32_t, 0xffffffffu,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5}, {%6}, "
                 "{%0,%1,%2,%3};" : D4(c) : A2(a), "r"(b[0]));)
MMA(imma_16832, 4, 2, 4, uint32_t, 0xffffffffu,
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, "
                 "{%8,%9}, {%0,%1,%2,%3};" : D4(c) : A4(a), A2(b));)
#endif
MMA(imma_8816, 1, 1, 2, uint32_t, 0xffffffffu,
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : D2(c) : "r"(a[0]), "r"(b[0]));)
#if __CUDA_ARCH__ >= 890
MMA(qmma_16832, 4, 2, 4, float, 0x80808080u,
    asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" : F4(c) : A4(a), A2(b));)
#endif

// Two words make one double; the sign of the upper one is flipped.
__device__ inline double paired(const uint32_t* words) { return __hiloint2double(words[1], words[0]); }
#if __CUDA_ARCH__ >= 800
MMA(dmma_884, 2, 2, 2, double, 0u,
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                 : "+d"(c[0]), "+d"(c[1]) : "d"(paired(a)), "d"(paired(b)));)
#endif
#if __CUDA_ARCH__ >= 900
MMA(dmma_16816, 16, 8, 4, double, 0u,
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, "
                 "{%4,%5,%6,%7,%8,%9,%10,%11}, {%12,%13,%14,%15}, {%0,%1,%2,%3};"
                 : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
                 : "d"(paired(a)), "d"(paired(a + 2)), "d"(paired(a + 4)), "d"(paired(a + 6)),
                   "d"(paired(a + 8)), "d"(paired(a + 10)), "d"(paired(a + 12)),
                   "d"(paired(a + 14)), "d"(paired(b)), "d"(paired(b + 2)), "d"(paired(b + 4)),
                   "d"(paired(b + 6)));)
#endif

}  // namespace op

#define RATE(name) \
    PROBE(mma_##name) { run<op::name, ACCUMULATORS, 16>(stamps, iterations, data); }
#define LATENCY(name) \
    PROBE(latency_##name) { run<op::name, 1, 32>(stamps, iterations, data); }

RATE(hmma_1688_f32)
LATENCY(hmma_1688_f32)
RATE(imma_8816)
#if __CUDA_ARCH__ >= 800
RATE(hmma_16816_f32)
RATE(hmma_16816_f16)
RATE(hmma_16816_bf16)
RATE(hmma_1684_tf32)
RATE(hmma_1688_tf32)
RATE(imma_16816)
RATE(imma_16832)
RATE(dmma_884)
LATENCY(hmma_16816_f32)
LATENCY(imma_16816)
LATENCY(imma_16832)
LATENCY(dmma_884)
#endif
#if __CUDA_ARCH__ >= 890
RATE(qmma_16832)
#endif
#if __CUDA_ARCH__ >= 900
RATE(dmma_16816)
#endif
