// C[M,N] = A[M,K] * B[N,K]^T with warpgroup matrix instructions; tiles of 128 x 128 x 64 arrive by
// the tensor copy engine (swizzled by 128 bytes) or as one flat copy from pre-tiled arrays.

#include <cuda.h>
#include "tensor.cuh"

constexpr int kTileBytes = 128 * 64 * 2;

__device__ __forceinline__ void barrier_init(uint32_t at, int count) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(at), "r"(count) : "memory");
}

__device__ __forceinline__ void barrier_expect(uint32_t at, int bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(at), "r"(bytes)
                 : "memory");
}

__device__ __forceinline__ void barrier_wait(uint32_t at, int phase) {
    asm volatile(
        "{\n.reg .pred p;\nwait:\n"
        "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra wait;\ndone:\n}" ::"r"(at),
        "r"(phase)
        : "memory");
}

__device__ __forceinline__ void copy_tensor(uint32_t to, const CUtensorMap* map, int x, int y,
                                            uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3}], [%4];" ::"r"(to),
        "l"(map), "r"(x), "r"(y), "r"(barrier)
        : "memory");
}

__device__ __forceinline__ void copy_flat(uint32_t to, const void* from, uint32_t barrier) {
    asm volatile(
        "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(to),
        "l"(from), "r"(kTileBytes), "r"(barrier)
        : "memory");
}

// Rows of 128 bytes in swizzled groups of eight (1024 bytes).
__device__ __forceinline__ uint64_t describe(uint32_t at) {
    return (uint64_t)((at & 0x3ffff) >> 4) | (uint64_t)1 << 16 | (uint64_t)64 << 32 | (uint64_t)1 << 62;
}

// `add` is 0 for the first product: the accumulators are then written, not read.
__device__ __forceinline__ void wgmma_64x128x16(float (&d)[64], uint64_t a, uint64_t b, int add) {
    asm volatile(
        "{\n.reg .pred p;\nsetp.ne.b32 p, %66, 0;\nwgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%0,%1,%2,%3,%4,%5,%6,%7,%8,%9,%10,%11,"
        "%12,%13,%14,%15,%16,%17,%18,%19,%20,%21,%22,%23,%24,%25,%26,%27,%28,%29,%30,%31,%32,%33,%34,"
        "%35,%36,%37,%38,%39,%40,%41,%42,%43,%44,%45,%46,%47,%48,%49,%50,%51,%52,%53,%54,%55,%56,%57,"
        "%58,%59,%60,%61,%62,%63}, %64, %65, p, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
          "+f"(d[7]), "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]),
          "+f"(d[14]), "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]),
          "+f"(d[21]), "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]),
          "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]),
          "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]),
          "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]),
          "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
          "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]),
          "+f"(d[63])
        : "l"(a), "l"(b), "r"(add));
}

template <int kPending>
__device__ __forceinline__ void wgmma_wait() {
    asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

// `fetch(tile, a, b, barrier)` starts the copies of one K tile.
template <int kStages, int kPending, class Fetch>
__device__ __forceinline__ void wgmma_tiles(float* c, int n, int k, Fetch fetch) {
    extern __shared__ __align__(1024) unsigned char raw[];
    __shared__ __align__(8) uint64_t full[kStages];
    const uint32_t base = (shared_pointer(raw) + 1023) & ~1023u;
    const int t = threadIdx.x, group = t / 128, tiles = k / 64;
    const auto a_at = [&](int s) { return base + s * 2 * kTileBytes; };
    const auto b_at = [&](int s) { return base + s * 2 * kTileBytes + kTileBytes; };
    if (t == 0)
        for (int s = 0; s < kStages; ++s) barrier_init(shared_pointer(full + s), 1);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    const auto start = [&](int tile, int s) {
        barrier_expect(shared_pointer(full + s), 2 * kTileBytes);
        fetch(tile, a_at(s), b_at(s), shared_pointer(full + s));
    };
    if (t == 0)
        for (int s = 0; s < kStages - kPending && s < tiles; ++s) start(s, s);
    float acc[64];
    int s = 0, phase = 0;
    for (int tile = 0; tile < tiles; ++tile) {
        barrier_wait(shared_pointer(full + s), phase);
        asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
        const uint64_t a = describe(a_at(s) + group * 8192), b = describe(b_at(s));
#pragma unroll
        for (int i = 0; i < 4; ++i) wgmma_64x128x16(acc, a + i * 2, b + i * 2, tile | i);
        asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
        wgmma_wait<kPending>();
        __syncthreads();
        const int next = tile + kStages - kPending;
        if (t == 0 && next < tiles) start(next, next % kStages);
        if (++s == kStages) {
            s = 0;
            phase ^= 1;
        }
    }
    wgmma_wait<0>();
    const int lane = t % 32, row = blockIdx.y * 128 + group * 64 + t % 128 / 32 * 16 + lane / 4;
#pragma unroll
    for (int j = 0; j < 16; ++j) {
        float* to = c + (size_t)row * n + blockIdx.x * 128 + j * 8 + lane % 4 * 2;
        *reinterpret_cast<float2*>(to) = make_float2(acc[j * 4], acc[j * 4 + 1]);
        *reinterpret_cast<float2*>(to + 8 * (size_t)n) = make_float2(acc[j * 4 + 2], acc[j * 4 + 3]);
    }
}

extern "C" __global__ void __launch_bounds__(256, 1)
    wgmma_tensor(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                 float* __restrict__ c, int m, int n, int k) {
    wgmma_tiles<4, 1>(c, n, k, [&](int tile, uint32_t to_a, uint32_t to_b, uint32_t barrier) {
        copy_tensor(to_a, &a, tile * 64, blockIdx.y * 128, barrier);
        copy_tensor(to_b, &b, tile * 64, blockIdx.x * 128, barrier);
    });
}

extern "C" __global__ void __launch_bounds__(256, 1)
    wgmma_flat(const unsigned char* __restrict__ a, const unsigned char* __restrict__ b,
               float* __restrict__ c, int m, int n, int k) {
    wgmma_tiles<4, 1>(c, n, k, [&](int tile, uint32_t to_a, uint32_t to_b, uint32_t barrier) {
        copy_flat(to_a, a + ((size_t)blockIdx.y * (k / 64) + tile) * kTileBytes, barrier);
        copy_flat(to_b, b + ((size_t)blockIdx.x * (k / 64) + tile) * kTileBytes, barrier);
    });
}

// One stage, and every product waited for: nothing overlaps.
extern "C" __global__ void __launch_bounds__(256, 1)
    wgmma_serial(const __grid_constant__ CUtensorMap a, const __grid_constant__ CUtensorMap b,
                 float* __restrict__ c, int m, int n, int k) {
    wgmma_tiles<1, 0>(c, n, k, [&](int tile, uint32_t to_a, uint32_t to_b, uint32_t barrier) {
        copy_tensor(to_a, &a, tile * 64, blockIdx.y * 128, barrier);
        copy_tensor(to_b, &b, tile * 64, blockIdx.x * 128, barrier);
    });
}
