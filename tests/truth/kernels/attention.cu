// softmax(Q K^T) V per head, head dimension 64, tensors [heads, seq, 64].

#include "tensor.cuh"

// One query row per thread in FP32; keys and values pass through shared memory.
extern "C" __global__ void __launch_bounds__(128) attention_scalar(const float* __restrict__ q,
                                                                   const float* __restrict__ k,
                                                                   const float* __restrict__ v,
                                                                   float* __restrict__ o, int seq) {
    __shared__ float ks[32][64], vs[32][64];
    const size_t head = (size_t)blockIdx.y * seq * 64;
    const int row = blockIdx.x * 128 + threadIdx.x;
    float query[64], out[64] = {};
#pragma unroll
    for (int d = 0; d < 64; ++d) query[d] = q[head + row * 64 + d] * 0.125f;
    float top = -1e30f, sum = 0.0f;
    for (int tile = 0; tile < seq; tile += 32) {
        for (int i = threadIdx.x; i < 2048; i += 128) {
            ks[i / 64][i % 64] = k[head + tile * 64 + i];
            vs[i / 64][i % 64] = v[head + tile * 64 + i];
        }
        __syncthreads();
        for (int j = 0; j < 32; ++j) {
            float score = 0.0f;
#pragma unroll
            for (int d = 0; d < 64; ++d) score += query[d] * ks[j][d];
            const float larger = fmaxf(top, score);
            const float keep = __expf(top - larger), p = __expf(score - larger);
            sum = sum * keep + p;
#pragma unroll
            for (int d = 0; d < 64; ++d) out[d] = out[d] * keep + p * vs[j][d];
            top = larger;
        }
        __syncthreads();
    }
#pragma unroll
    for (int d = 0; d < 64; ++d) o[head + row * 64 + d] = out[d] / sum;
}

// Four warps of 16 query rows, tiles of 64 keys, mma.sync; `pad` halves are added to each row.
template <int kPad, bool kCausal>
__device__ __forceinline__ void attention_tiles(const __half* q, const __half* k, const __half* v,
                                                __half* o, int seq) {
    constexpr int kPitch = 64 + kPad;
    __shared__ __align__(128) __half ks[64 * kPitch], vs[64 * kPitch];
    const int t = threadIdx.x, warp = t / 32, lane = t % 32;
    const size_t head = (size_t)blockIdx.y * seq * 64;
    const int row = blockIdx.x * 64 + warp * 16;
    uint32_t query[4][4];
#pragma unroll
    for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int p = 0; p < 4; ++p)
            query[i][p] = *reinterpret_cast<const uint32_t*>(
                q + head + (size_t)(row + lane / 4 + p % 2 * 8) * 64 + i * 16 + p / 2 * 8 + lane % 4 * 2);
    float out[8][4] = {}, top[2] = {-1e30f, -1e30f}, sum[2] = {};
    const int last = kCausal ? blockIdx.x * 64 + 64 : seq;
    for (int tile = 0; tile < last; tile += 64) {
        __syncthreads();
#pragma unroll
        for (int i = t; i < 512; i += 128) {
            const size_t from = head + (size_t)(tile + i / 8) * 64 + i % 8 * 8;
            *reinterpret_cast<uint4*>(ks + i / 8 * kPitch + i % 8 * 8) =
                *reinterpret_cast<const uint4*>(k + from);
            *reinterpret_cast<uint4*>(vs + i / 8 * kPitch + i % 8 * 8) =
                *reinterpret_cast<const uint4*>(v + from);
        }
        __syncthreads();
        float score[8][4] = {};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                uint32_t keys[4];
                load_matrices(keys, ks + (j * 16 + lane / 16 * 8 + lane % 8) * kPitch + i * 16 +
                                        lane / 8 % 2 * 8);
                mma_half(score[j * 2], query[i], keys[0], keys[1]);
                mma_half(score[j * 2 + 1], query[i], keys[2], keys[3]);
            }
        }
#pragma unroll
        for (int h = 0; h < 2; ++h) {
            float larger = top[h];
#pragma unroll
            for (int j = 0; j < 8; ++j)
                larger = fmaxf(larger, fmaxf(score[j][h * 2], score[j][h * 2 + 1]));
            larger = fmaxf(larger, __shfl_xor_sync(~0u, larger, 1));
            larger = fmaxf(larger, __shfl_xor_sync(~0u, larger, 2));
            const float keep = exp2f((top[h] - larger) * 0.18f);
            top[h] = larger;
            float part = 0.0f;
#pragma unroll
            for (int j = 0; j < 8; ++j) {
                score[j][h * 2] = exp2f((score[j][h * 2] - larger) * 0.18f);
                score[j][h * 2 + 1] = exp2f((score[j][h * 2 + 1] - larger) * 0.18f);
                part += score[j][h * 2] + score[j][h * 2 + 1];
                out[j][h * 2] *= keep;
                out[j][h * 2 + 1] *= keep;
            }
            sum[h] = sum[h] * keep + part;
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            uint32_t weight[4];
#pragma unroll
            for (int p = 0; p < 4; ++p) {
                const __half2 two = __floats2half2_rn(score[i * 2 + p / 2][p % 2 * 2],
                                                      score[i * 2 + p / 2][p % 2 * 2 + 1]);
                weight[p] = *reinterpret_cast<const uint32_t*>(&two);
            }
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                uint32_t values[4];
                load_matrices_transposed(
                    values, vs + (i * 16 + lane % 16) * kPitch + j * 16 + lane / 16 * 8);
                mma_half(out[j * 2], weight, values[0], values[1]);
                mma_half(out[j * 2 + 1], weight, values[2], values[3]);
            }
        }
    }
#pragma unroll
    for (int h = 0; h < 2; ++h) {
        sum[h] += __shfl_xor_sync(~0u, sum[h], 1);
        sum[h] += __shfl_xor_sync(~0u, sum[h], 2);
        const float scale = 1.0f / sum[h];
#pragma unroll
        for (int j = 0; j < 8; ++j)
            *reinterpret_cast<__half2*>(o + head + (size_t)(row + lane / 4 + h * 8) * 64 + j * 8 +
                                        lane % 4 * 2) =
                __floats2half2_rn(out[j][h * 2] * scale, out[j][h * 2 + 1] * scale);
    }
}

#define ATTENTION(name, pad, causal)                                                         \
    extern "C" __global__ void __launch_bounds__(128)                                        \
        name(const __half* __restrict__ q, const __half* __restrict__ k,                     \
             const __half* __restrict__ v, __half* __restrict__ o, int seq) {                \
        attention_tiles<pad, causal>(q, k, v, o, seq);                                       \
    }

ATTENTION(attention_conflict, 0, false)
ATTENTION(attention_padded, 8, false)
ATTENTION(attention_causal, 8, true)
