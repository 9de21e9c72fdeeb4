// One opcode each, eight chains per thread: Nsight Compute's pipe counters give pipe and cost.

#include <stdint.h>

#define PIPE(name, type, constraint, start, text)                                   \
    extern "C" __global__ void pipe_##name(type* out, int rounds) {                  \
        type v[8];                                                                   \
        for (int j = 0; j < 8; ++j) v[j] = (type)(threadIdx.x + j + start);          \
        const type a = (type)(blockIdx.x + 3), b = (type)(blockIdx.x + 5);           \
        for (int r = 0; r < rounds; ++r) {                                           \
            _Pragma("unroll") for (int q = 0; q < 4; ++q) _Pragma("unroll")          \
            for (int j = 0; j < 8; ++j)                                              \
                asm volatile(text : "+" constraint(v[j]) : constraint(a), constraint(b)); \
        }                                                                            \
        type sum = 0;                                                                \
        for (int j = 0; j < 8; ++j) sum += v[j];                                     \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                            \
    }

PIPE(ffma, float, "f", 1, "fma.rn.f32 %0, %0, %1, %2;")
PIPE(fadd, float, "f", 1, "add.rn.f32 %0, %0, %1;")
PIPE(fmul, float, "f", 1, "mul.rn.f32 %0, %0, %1;")
PIPE(fmnmx, float, "f", 1, "min.f32 %0, %0, %1;")
PIPE(dfma, double, "d", 1, "fma.rn.f64 %0, %0, %1, %2;")
PIPE(dadd, double, "d", 1, "add.rn.f64 %0, %0, %1;")
PIPE(imad, uint32_t, "r", 1, "mad.lo.u32 %0, %0, %1, %2;")
PIPE(imad_high, uint32_t, "r", 1, "mad.hi.u32 %0, %0, %1, %2;")
PIPE(imad_wide, uint64_t, "l", 1,
     "{\n.reg .u32 x, y;\nmov.b64 {x, y}, %0;\nmad.wide.u32 %0, x, y, %1;\n}")
PIPE(iadd3, uint32_t, "r", 1, "{\n.reg .u32 x;\nadd.u32 x, %0, %1;\nadd.u32 %0, x, %2;\n}")
PIPE(lop3, uint32_t, "r", 1, "lop3.b32 %0, %0, %1, %2, 0x96;")
PIPE(shf, uint32_t, "r", 1, "shf.l.wrap.b32 %0, %0, %1, %2;")
PIPE(prmt, uint32_t, "r", 1, "prmt.b32 %0, %0, %1, %2;")
PIPE(lea, uint32_t, "r", 1, "{\n.reg .u32 x;\nshl.b32 x, %0, 4;\nadd.u32 %0, x, %1;\n}")
PIPE(imnmx, uint32_t, "r", 1, "min.u32 %0, %0, %1;")
PIPE(isetp, uint32_t, "r", 1,
     "{\n.reg .pred p;\nsetp.gt.u32 p, %0, %1;\nselp.u32 %0, %2, %0, p;\n}")
PIPE(fsetp, float, "f", 1, "{\n.reg .pred p;\nsetp.gt.f32 p, %0, %1;\nselp.f32 %0, %2, %0, p;\n}")
PIPE(popc, uint32_t, "r", 1, "popc.b32 %0, %0;")
PIPE(flo, uint32_t, "r", 1, "bfind.u32 %0, %0;")
PIPE(brev, uint32_t, "r", 1, "brev.b32 %0, %0;")
PIPE(dp4a, uint32_t, "r", 1, "dp4a.u32.u32 %0, %0, %1, %2;")
PIPE(mufu, float, "f", 1, "ex2.approx.ftz.f32 %0, %0;")
PIPE(f2i, float, "f", 1, "{\n.reg .s32 x;\ncvt.rni.s32.f32 x, %0;\nmov.b32 %0, x;\n}")
PIPE(i2f, float, "f", 1, "{\n.reg .s32 x;\nmov.b32 x, %0;\ncvt.rn.f32.s32 %0, x;\n}")
PIPE(frnd, float, "f", 1, "cvt.rni.f32.f32 %0, %0;")
PIPE(f2f, double, "d", 1, "{\n.reg .f32 x;\ncvt.rn.f32.f64 x, %0;\ncvt.f64.f32 %0, x;\n}")
PIPE(f2fp, uint32_t, "r", 1,
     "{\n.reg .f32 x, y;\nmov.b32 x, %0;\nmov.b32 y, %1;\ncvt.rn.f16x2.f32 %0, x, y;\n}")
PIPE(hfma2, uint32_t, "r", 1, "fma.rn.f16x2 %0, %0, %1, %2;")
PIPE(hadd2, uint32_t, "r", 1, "add.rn.f16x2 %0, %0, %1;")
PIPE(hmul2, uint32_t, "r", 1, "mul.rn.f16x2 %0, %0, %1;")
PIPE(hfma2_bf16, uint32_t, "r", 1, "fma.rn.bf16x2 %0, %0, %1, %2;")
PIPE(shfl, uint32_t, "r", 1, "shfl.sync.bfly.b32 %0, %0, 1, 31, -1;")
PIPE(vote, uint32_t, "r", 1,
     "{\n.reg .pred p;\nsetp.gt.u32 p, %0, %1;\nvote.sync.ballot.b32 %0, p, -1;\n}")
PIPE(redux, uint32_t, "r", 1, "redux.sync.add.u32 %0, %0, -1;")
PIPE(match, uint32_t, "r", 1, "match.any.sync.b32 %0, %0, -1;")

// Matrix instructions: four independent accumulators per warp.
template <class Op>
__device__ __forceinline__ void matrix(typename Op::Type* out, int rounds) {
    typename Op::Type c[4][Op::kCount] = {}, sum = 0;
    const uint32_t a = threadIdx.x & 1, b = blockIdx.x & 1;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 8; ++j) Op::apply(c[j % 4], a, b);
    }
    for (int j = 0; j < 4; ++j)
        for (int i = 0; i < Op::kCount; ++i) sum += c[j][i];
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

#define MMA4(name, type, constraint, text)                                                       \
    struct name {                                                                                \
        using Type = type;                                                                       \
        static constexpr int kCount = 4;                                                         \
        static __device__ __forceinline__ void apply(type* c, uint32_t a, uint32_t b) {           \
            asm volatile("mma.sync.aligned." text                                                \
                         : "+" constraint(c[0]), "+" constraint(c[1]), "+" constraint(c[2]),     \
                           "+" constraint(c[3])                                                  \
                         : "r"(a), "r"(b));                                                      \
        }                                                                                        \
    };                                                                                           \
    extern "C" __global__ void pipe_##name(type* out, int rounds) { matrix<name>(out, rounds); }

#define D4 " {%0,%1,%2,%3} "
MMA4(hmma_16816_f32, float, "f", "m16n8k16.row.col.f32.f16.f16.f32" D4 ", {%4,%4,%4,%4}, {%5,%5}," D4 ";")
MMA4(hmma_16816_bf16, float, "f", "m16n8k16.row.col.f32.bf16.bf16.f32" D4 ", {%4,%4,%4,%4}, {%5,%5}," D4 ";")
MMA4(hmma_1688_f32, float, "f", "m16n8k8.row.col.f32.f16.f16.f32" D4 ", {%4,%4}, {%5}," D4 ";")
MMA4(hmma_1688_tf32, float, "f", "m16n8k8.row.col.f32.tf32.tf32.f32" D4 ", {%4,%4,%4,%4}, {%5,%5}," D4 ";")
MMA4(hmma_1684_tf32, float, "f", "m16n8k4.row.col.f32.tf32.tf32.f32" D4 ", {%4,%4}, {%5}," D4 ";")
MMA4(imma_16832, int, "r", "m16n8k32.row.col.s32.s8.s8.s32" D4 ", {%4,%4,%4,%4}, {%5,%5}," D4 ";")
MMA4(imma_16816, int, "r", "m16n8k16.row.col.s32.s8.s8.s32" D4 ", {%4,%4}, {%5}," D4 ";")

struct hmma_16816_f16 {
    using Type = int;
    static constexpr int kCount = 2;
    static __device__ __forceinline__ void apply(int* c, uint32_t a, uint32_t b) {
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%0,%1}, {%2,%2,%2,%2}, {%3,%3}, {%0,%1};"
            : "+r"(c[0]), "+r"(c[1])
            : "r"(a), "r"(b));
    }
};
extern "C" __global__ void pipe_hmma_16816_f16(int* out, int rounds) {
    matrix<hmma_16816_f16>(out, rounds);
}

struct dmma_884 {
    using Type = double;
    static constexpr int kCount = 2;
    static __device__ __forceinline__ void apply(double* c, uint32_t a, uint32_t b) {
        asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1}, {%2}, {%3}, {%0,%1};"
                     : "+d"(c[0]), "+d"(c[1])
                     : "d"((double)a), "d"((double)b));
    }
};
extern "C" __global__ void pipe_dmma_884(double* out, int rounds) { matrix<dmma_884>(out, rounds); }

// Special registers, constants and barriers.
#define REPEAT(name, text)                                                                       \
    extern "C" __global__ void pipe_##name(uint32_t* out, int rounds) {                           \
        uint32_t sum = 0;                                                                        \
        for (int r = 0; r < rounds; ++r) {                                                       \
            _Pragma("unroll") for (int j = 0; j < 16; ++j) {                                     \
                uint32_t v = 0;                                                                  \
                asm volatile(text : "=r"(v));                                                    \
                sum += v;                                                                        \
            }                                                                                    \
        }                                                                                        \
        out[blockIdx.x * blockDim.x + threadIdx.x] = sum;                                        \
    }
REPEAT(s2r_thread, "mov.u32 %0, %%tid.x;")
REPEAT(s2r_lane, "mov.u32 %0, %%laneid;")
REPEAT(s2r_block, "mov.u32 %0, %%ctaid.x;")
REPEAT(bar, "bar.sync 0;\nmov.u32 %0, 1;")
REPEAT(warpsync, "bar.warp.sync 0xffffffff;\nmov.u32 %0, 1;")

__constant__ uint32_t table[1024];
extern "C" __global__ void pipe_ldc(uint32_t* out, int rounds) {
    uint32_t sum = 0, at = threadIdx.x / 32;
    for (int r = 0; r < rounds; ++r) {
#pragma unroll
        for (int j = 0; j < 16; ++j) sum += table[(at + j) & 255];
        at += sum & 1;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
