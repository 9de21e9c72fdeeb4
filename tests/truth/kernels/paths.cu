// Requests to L2 with a given number of sectors per 128-byte line; the working set stays in L2.
// `sectors` of each line are touched; what a warp asks for is spread over as many lines as needed.

#include "tensor.cuh"

// Word index of `part` (a group of lanes that fills one sector) in round r.
__device__ __forceinline__ unsigned place(unsigned part, unsigned parts, unsigned r, unsigned mask,
                                          int sectors) {
    const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    const unsigned at = (warp + r * 131071u) * parts + part;
    return ((at / sectors) * 4 + at % sectors) * 8 & mask;
}

extern "C" __global__ void path_read(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                     int sectors) {
    const unsigned lane = threadIdx.x % 32;
    unsigned sum = 0;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) sum += __ldcg(in + place(lane / 8, 4, r, mask, sectors) + lane % 8);
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void path_read16(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                       int sectors) {
    const unsigned lane = threadIdx.x % 32;
    unsigned sum = 0;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) {
        const uint4 v = __ldcg(reinterpret_cast<const uint4*>(
            in + place(lane / 2, 16, r, mask, sectors) + lane % 2 * 4));
        sum += v.x ^ v.y ^ v.z ^ v.w;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

extern "C" __global__ void path_write(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                      int sectors) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) out[place(lane / 8, 4, r, mask, sectors) + lane % 8] = r;
}

// One word of each sector.
extern "C" __global__ void path_scatter(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                        int sectors) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) out[place(lane, 32, r, mask, sectors)] = r;
}

extern "C" __global__ void path_async16(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                        int sectors) {
    __shared__ __align__(16) unsigned ring[2][1024];
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 2
    for (int r = 0; r < rounds; ++r) {
        copy_async_16(ring[r & 1] + threadIdx.x * 4,
                      in + place(lane / 2, 16, r, mask, sectors) + lane % 2 * 4);
        copy_commit();
        copy_wait<6>();
    }
    copy_wait<0>();
    out[blockIdx.x * blockDim.x + threadIdx.x] = ring[0][threadIdx.x];
}

extern "C" __global__ void path_async4(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                       int sectors) {
    __shared__ unsigned ring[2][256];
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 2
    for (int r = 0; r < rounds; ++r) {
        copy_async_4(ring[r & 1] + threadIdx.x, in + place(lane / 8, 4, r, mask, sectors) + lane % 8);
        copy_commit();
        copy_wait<6>();
    }
    copy_wait<0>();
    out[blockIdx.x * blockDim.x + threadIdx.x] = ring[0][threadIdx.x];
}

extern "C" __global__ void path_add(const unsigned* in, unsigned* out, unsigned mask, int rounds,
                                    int sectors) {
    const unsigned lane = threadIdx.x % 32;
#pragma unroll 4
    for (int r = 0; r < rounds; ++r) atomicAdd(out + place(lane / 8, 4, r, mask, sectors) + lane % 8, r);
}
