// Issue cost and latency of single opcodes: one instruction, eight independent chains per thread,
// unrolled far enough that the loop itself is noise. With many warps a probe shows how often a
// sub-partition takes the instruction, with one warp and one chain its latency.
//
// What ptxas made of each loop is counted by build.py and stored in loops.json; the rates rest on
// those counts, not on the source.

#include "probe.cuh"

#define CHAINS 8

// T: type of the chains; a, b: unknown constants. `repeat` operations per chain and iteration.
template <typename Op, int repeat, int chains>
__device__ void run(Stamp* stamps, uint64_t iterations, void* data) {
    using T = typename Op::T;
    const T* values = static_cast<const T*>(data);
    T x[chains];
#pragma unroll
    for (int i = 0; i < chains; ++i) x[i] = values[(threadIdx.x * chains + i) & 1023];
    T a = Op::constant(values[1024], data), b = values[1025];
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < repeat; ++r)
#pragma unroll
            for (int i = 0; i < chains; ++i)
                x[i] = Op::apply(x[i], x[(i + 1) % chains], a, b);
    }
    clock.stop(stamps);
#pragma unroll
    for (int i = 0; i < chains; ++i) keep(x[i], data);
}

template <typename Type>
struct Plain {
    using T = Type;
    static __device__ T constant(T value, const void*) { return value; }
};
// x -> b - x: every bit that can toggle does, and nothing overflows.
template <typename Type>
struct Flipping {
    using T = Type;
    static __device__ T constant(T value, const void* data) { return always(data) ? T(-1) : value; }
};

#define OP3(name, type, constraint, base, instruction)                              \
    struct name : base<type> {                                                      \
        static __device__ type apply(type x, type y, type a, type b) {              \
            type d;                                                                 \
            asm volatile(instruction                                                \
                         : "=" constraint(d)                                        \
                         : constraint(x), constraint(y), constraint(a), constraint(b)); \
            return d;                                                               \
        }                                                                           \
    };
#define FLOAT(name, instruction) OP3(name, float, "f", Plain, instruction)
#define WORD(name, instruction) OP3(name, uint32_t, "r", Plain, instruction)

#define COST(name, repeat)                                           \
    PROBE(cost_##name) { run<op::name, repeat, CHAINS>(stamps, iterations, data); }
#define LATENCY(name, repeat)                                        \
    PROBE(latency_##name) { run<op::name, repeat, 1>(stamps, iterations, data); }

namespace op {

// FMA pipe
OP3(ffma, float, "f", Flipping, "fma.rn.f32 %0, %1, %3, %4;")
FLOAT(fadd, "add.rn.f32 %0, %1, %3;")
FLOAT(fmul, "mul.rn.f32 %0, %1, %3;")
WORD(imad, "mad.lo.u32 %0, %1, %3, %4;")
WORD(imad_hi, "mad.hi.u32 %0, %1, %3, %4;")
struct imad_wide : Plain<uint64_t> {
    static __device__ uint64_t apply(uint64_t x, uint64_t, uint64_t, uint64_t) {
        uint64_t d;
        asm volatile("mul.wide.u32 %0, %1, %2;"
                     : "=l"(d)
                     : "r"(static_cast<uint32_t>(x)), "r"(static_cast<uint32_t>(x >> 32)));
        return d;
    }
};
WORD(idp, "dp4a.u32.u32 %0, %1, %3, %4;")
OP3(hfma2, uint32_t, "r", Plain, "fma.rn.f16x2 %0, %1, %3, %4;")
OP3(hadd2, uint32_t, "r", Plain, "add.rn.f16x2 %0, %1, %3;")
#if __CUDA_ARCH__ >= 800
OP3(hfma2_bf16, uint32_t, "r", Plain, "fma.rn.bf16x2 %0, %1, %3, %4;")
#endif

// ALU pipe. Each step mixes two chains, so that nothing folds.
WORD(iadd3, "{ .reg .u32 t; add.u32 t, %1, %2; add.u32 %0, t, %3; }")
WORD(lop3, "lop3.b32 %0, %1, %2, %3, 0xe8;")
WORD(shf, "shf.l.wrap.b32 %0, %1, %2, %3;")
WORD(prmt, "prmt.b32 %0, %1, %2, %3;")
FLOAT(fmnmx, "min.f32 %0, %1, %2;")
struct vimnmx : Plain<int> {
    static __device__ int apply(int x, int y, int, int) {
        int d;
        asm volatile("min.s32 %0, %1, %2;" : "=r"(d) : "r"(x), "r"(y));
        return d;
    }
};
#if __CUDA_ARCH__ >= 800
WORD(f2fp, "{ .reg .f32 p, q; mov.b32 p, %1; mov.b32 q, %2; cvt.rn.f16x2.f32 %0, p, q; }")
#endif

// Double precision
// With one constant: a third register of 64 bits costs the register file 8 % (seen on sm_90).
OP3(dfma, double, "d", Flipping, "fma.rn.f64 %0, %1, %3, %3;")
OP3(dadd, double, "d", Plain, "add.rn.f64 %0, %1, %3;")
OP3(dmul, double, "d", Plain, "mul.rn.f64 %0, %1, %3;")

// Transcendental and conversion pipe
FLOAT(mufu_ex2, "ex2.approx.ftz.f32 %0, %1;")
FLOAT(mufu_rsq, "rsqrt.approx.ftz.f32 %0, %1;")
FLOAT(mufu_lg2, "lg2.approx.ftz.f32 %0, %1;")
FLOAT(mufu_tanh, "tanh.approx.f32 %0, %1;")
FLOAT(frnd, "cvt.rni.f32.f32 %0, %1;")
WORD(f2i, "{ .reg .f32 t; mov.b32 t, %1; cvt.rni.s32.f32 %0, t; }")
WORD(i2f, "{ .reg .f32 t; cvt.rn.f32.u32 t, %1; mov.b32 %0, t; }")
WORD(i2f_s8, "{ .reg .f32 t; .reg .s16 h; cvt.s8.s32 h, %1; cvt.rn.f32.s8 t, h; mov.b32 %0, t; }")
WORD(popc, "popc.b32 %0, %1;")
WORD(flo, "bfind.u32 %0, %1;")
WORD(brev, "brev.b32 %0, %1;")
struct f2f_narrow : Plain<double> {
    static __device__ double apply(double x, double, double, double) {
        double d;
        asm volatile("{ .reg .f32 t; cvt.rn.f32.f64 t, %1; cvt.f64.f32 %0, t; }" : "=d"(d) : "d"(x));
        return d;
    }
};

// Pairs that the compiler cannot part: the cost is that of both.
FLOAT(fsel, "{ .reg .pred p; setp.lt.f32 p, %1, %4; selp.f32 %0, %1, %2, p; }")
struct iabs : Plain<int> {
    static __device__ int apply(int x, int, int a, int) { return abs(x) ^ a; }
};

// Across lanes
WORD(shfl, "shfl.sync.bfly.b32 %0, %1, 1, 31, 0xffffffff;")
WORD(vote, "{ .reg .pred p; setp.ne.u32 p, %1, %2; vote.sync.ballot.b32 %0, p, 0xffffffff; }")

}  // namespace op

COST(ffma, 64)
COST(fadd, 64)
COST(fmul, 64)
COST(imad, 32)
COST(imad_hi, 32)
COST(imad_wide, 32)
COST(idp, 32)
COST(hfma2, 64)
COST(hadd2, 64)
COST(iadd3, 32)
COST(lop3, 32)
COST(shf, 32)
COST(prmt, 32)
COST(fmnmx, 32)
COST(vimnmx, 32)
COST(dfma, 32)
COST(dadd, 32)
COST(dmul, 32)
COST(mufu_ex2, 16)
COST(mufu_rsq, 16)
COST(mufu_lg2, 16)
COST(mufu_tanh, 16)
COST(frnd, 16)
COST(f2i, 16)
COST(i2f, 16)
COST(i2f_s8, 16)
COST(popc, 16)
COST(flo, 16)
COST(brev, 16)
COST(f2f_narrow, 16)
COST(fsel, 16)
COST(iabs, 16)
COST(shfl, 16)
COST(vote, 16)

LATENCY(ffma, 128)
LATENCY(fadd, 128)
LATENCY(imad, 128)
LATENCY(iadd3, 128)
LATENCY(lop3, 128)
LATENCY(shf, 128)
LATENCY(prmt, 128)
LATENCY(hfma2, 128)
LATENCY(dfma, 128)
LATENCY(mufu_ex2, 64)
LATENCY(popc, 64)
LATENCY(shfl, 64)

#if __CUDA_ARCH__ >= 800
COST(f2fp, 32)
COST(hfma2_bf16, 64)
LATENCY(hfma2_bf16, 128)
#endif

// Predicates: the chain runs through the predicate register itself.
#define TWICE(text) text text
#define TIMES8(text) TWICE(TWICE(TWICE(text)))
#define PREDICATE_CHAIN(name, type, constraint, step)                                          \
    PROBE(name) {                                                                              \
        const type* values = static_cast<const type*>(data);                                   \
        type w = values[threadIdx.x], x = values[threadIdx.x + 32], y = values[threadIdx.x + 64]; \
        uint32_t flag = values[1] < values[2];                                                 \
        Clock clock;                                                                           \
        _Pragma("unroll 1") for (uint64_t n = 0; n < iterations; ++n)                          \
            asm volatile("{ .reg .pred p, q; setp.ne.u32 p, %0, 0; setp.eq.u32 q, %0, 0;"      \
                         TIMES8(step) TIMES8(step) TIMES8(step) TIMES8(step) "or.pred p, p, q; selp.u32 %0, 1, 0, p; }"  \
                         : "+r"(flag)                                                          \
                         : constraint(w), constraint(x), constraint(y));                       \
        clock.stop(stamps);                                                                    \
        keep(flag, data);                                                                      \
    }
PREDICATE_CHAIN(cost_isetp, uint32_t, "r",
                "setp.lt.xor.u32 p, %1, %2, p; setp.gt.xor.u32 q, %2, %3, q;"
                "setp.le.xor.u32 p, %3, %1, p; setp.ge.xor.u32 q, %1, %3, q;")
PREDICATE_CHAIN(cost_fsetp, float, "f",
                "setp.lt.xor.f32 p, %1, %2, p; setp.gt.xor.f32 q, %2, %3, q;"
                "setp.le.xor.f32 p, %3, %1, p; setp.ge.xor.f32 q, %1, %3, q;")

// Selects under a predicate that is known only at run time.
PROBE(cost_sel) {
    const uint32_t* values = static_cast<const uint32_t*>(data);
    uint32_t x[CHAINS];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) x[i] = values[(threadIdx.x * CHAINS + i) & 1023];
    uint32_t left = values[1] & 1, right = values[2] & 1;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < 32; ++r)
            asm volatile(
                "{ .reg .pred p, q; setp.ne.u32 p, %8, 0; setp.ne.u32 q, %9, 0;"
                "selp.b32 %0, %1, %2, p; selp.b32 %1, %2, %3, q; selp.b32 %2, %3, %4, p;"
                "selp.b32 %3, %4, %5, q; selp.b32 %4, %5, %6, p; selp.b32 %5, %6, %7, q;"
                "selp.b32 %6, %7, %0, p; selp.b32 %7, %0, %1, q; }"
                : "+r"(x[0]), "+r"(x[1]), "+r"(x[2]), "+r"(x[3]), "+r"(x[4]), "+r"(x[5]),
                  "+r"(x[6]), "+r"(x[7])
                : "r"(left), "r"(right));
    }
    clock.stop(stamps);
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) keep(x[i], data);
}

#define LOGIC "and.pred s, p, q; xor.pred p, s, r; or.pred s, q, p; xor.pred q, s, r;"
PROBE(cost_plop3) {
    const uint32_t* values = static_cast<const uint32_t*>(data) + threadIdx.x;
    uint32_t x = values[0] & 1, y = values[1] & 1, z = values[2] & 1;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n)
        asm volatile("{ .reg .pred p, q, r, s; setp.ne.u32 p, %0, 0; setp.ne.u32 q, %1, 0;"
                     "setp.ne.u32 r, %2, 0;" TIMES8(TIMES8(LOGIC)) TIMES8(TIMES8(LOGIC))
                     "selp.u32 %0, 1, 0, p; selp.u32 %1, 1, 0, q; }"
                     : "+r"(x), "+r"(y) : "r"(z));
    clock.stop(stamps);
    keep(x ^ y, data);
}

// Issue rate: two FMA and one ALU instruction leave each pipe below its limit.
PROBE(issue_mix) {
    const float* floats = static_cast<const float*>(data);
    const uint32_t* words = static_cast<const uint32_t*>(data);
    float x[CHAINS], a = always(data) ? -1.0f : floats[1], b = floats[2];
    uint32_t y[4], c = words[3];
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) x[i] = floats[threadIdx.x * CHAINS + i & 1023];
#pragma unroll
    for (int i = 0; i < 4; ++i) y[i] = words[threadIdx.x * 4 + i & 1023];
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < 32; ++r)
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[2 * i]) : "f"(a), "f"(b));
                asm volatile("fma.rn.f32 %0, %0, %1, %2;" : "+f"(x[2 * i + 1]) : "f"(a), "f"(b));
                asm volatile("lop3.b32 %0, %0, %1, %2, 0xe8;" : "+r"(y[i]) : "r"(y[i + 1 & 3]), "r"(c));
            }
    }
    clock.stop(stamps);
#pragma unroll
    for (int i = 0; i < CHAINS; ++i) keep(x[i], data);
#pragma unroll
    for (int i = 0; i < 4; ++i) keep(y[i], data);
}

// Barrier, special registers
PROBE(cost_bar) {
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < 32; ++r) asm volatile("bar.sync 0;" ::: "memory");
    }
    clock.stop(stamps);
}

PROBE(cost_s2r) {
    uint32_t sum = 0, value;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < 32; ++r) {
            asm volatile("mov.u32 %0, %warpid;" : "=r"(value));
            sum += value;
        }
    }
    clock.stop(stamps);
    keep(sum, data);
}

// Constant memory: an index per lane (LDC), and operands that stream through the constant cache.
__constant__ uint32_t table[16384];

// `mask` sets how many different addresses the lanes of a warp ask for: 1, 2 or 32.
template <int mask>
__device__ void constant_loads(Stamp* stamps, uint64_t iterations, void* data) {
    uint32_t x[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) x[i] = (threadIdx.x & mask) + 64 * i;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < 16; ++r)
#pragma unroll
            for (int i = 0; i < 4; ++i) x[i] += table[x[i]];  // the table holds zeros
    }
    clock.stop(stamps);
#pragma unroll
    for (int i = 0; i < 4; ++i) keep(x[i], data);
}
PROBE(cost_ldc_uniform) { constant_loads<0>(stamps, iterations, data); }
PROBE(cost_ldc_2_addresses) { constant_loads<1>(stamps, iterations, data); }
PROBE(cost_ldc_32_addresses) { constant_loads<31>(stamps, iterations, data); }
PROBE(latency_ldc) {
    uint32_t x = threadIdx.x & 0;
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int r = 0; r < 64; ++r) x = table[x];
    }
    clock.stop(stamps);
    keep(x, data);
}

template <int words>
__device__ void constant_stream(Stamp* stamps, uint64_t iterations, void* data) {
    const float* floats = reinterpret_cast<const float*>(table);
    float x[4] = {1, 2, 3, 4};
    Clock clock;
#pragma unroll 1
    for (uint64_t n = 0; n < iterations; ++n) {
#pragma unroll
        for (int i = 0; i < words; ++i)
            asm volatile("fma.rn.f32 %0, %0, %1, %0;" : "+f"(x[i & 3]) : "f"(floats[i]));
    }
    clock.stop(stamps);
    keep(x[0] + x[1] + x[2] + x[3], data);
}
PROBE(constant_stream_1k) { constant_stream<256>(stamps, iterations, data); }
PROBE(constant_stream_8k) { constant_stream<2048>(stamps, iterations, data); }
