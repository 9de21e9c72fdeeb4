// Attention forward, O = softmax(Q K^T / 8) V for head_dim = 64, f16 in and out, f32 in between,
// without writing the scores: the body of the flash attention kernels.
//
// One block of 4 warps takes 64 rows of Q of one head (blockIdx.y) and walks over K and V in tiles of
// 64 rows. Per tile and warp: 32 mma for Q K^T, 32 for P V, and 8 loads of 16 bytes (4 of K, 4 of V).
// Rows are padded to 72 halves, which ldmatrix reads without bank conflicts.
// seq_len is a multiple of 64; no mask.

#pragma once

#include "mma.cuh"

namespace flash {

constexpr int kHead = 64;
constexpr int kRows = 64;
constexpr int kPitch = kHead + 8;
constexpr int kThreads = 128;
constexpr int kPasses = 4;  // 64 rows, 16 rows a pass, 8 threads of 16 bytes a row
constexpr int kTileHalves = kRows * kPitch;
constexpr float kLog2Scale = 0.125f * 1.44269504f;  // 1/sqrt(64), and exp as exp2

struct State {
    uint32_t q[4][4];
    float out[8][4];
    float top[2];  // running maximum of the two rows of this lane, in log2 units
    float sum[2];
};

__device__ __forceinline__ void load_q(State& state, const __half* q_rows, __half* tile) {
    const int row = threadIdx.x / 8, column = threadIdx.x % 8 * 8;
#pragma unroll
    for (int pass = 0; pass < kPasses; ++pass) {
        *reinterpret_cast<uint4*>(tile + (row + pass * 16) * kPitch + column) =
            *reinterpret_cast<const uint4*>(q_rows + (row + pass * 16) * kHead + column);
    }
    __syncthreads();
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        ldmatrix_x4(state.q[k], tile + (warp_row + lane % 16) * kPitch + k * 16 + lane / 16 * 8);
    }
    __syncthreads();
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        state.out[j][0] = state.out[j][1] = state.out[j][2] = state.out[j][3] = 0.0f;
    }
    state.top[0] = state.top[1] = -1e30f;
    state.sum[0] = state.sum[1] = 0.0f;
}

__device__ __forceinline__ float exp2_approx(float x) {
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ __forceinline__ float quad_max(float x) {
    x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
    return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}

__device__ __forceinline__ uint32_t pack(float low, float high) {
    const __half2 pair = __floats2half2_rn(low, high);
    return *reinterpret_cast<const uint32_t*>(&pair);
}

// One tile of 64 rows of K and V in shared memory.
__device__ __forceinline__ void tile(State& state, const __half* k_tile, const __half* v_tile) {
    const int lane = threadIdx.x % 32;
    float score[8][4] = {};
#pragma unroll
    for (int k = 0; k < 4; ++k) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {  // 16 rows of K are 16 columns of the score
            uint32_t b[4];
            ldmatrix_x4(b, k_tile + (j * 16 + lane / 16 * 8 + lane % 8) * kPitch + k * 16 +
                               lane / 8 % 2 * 8);
            mma_16816(score[j * 2], state.q[k], b[0], b[1]);
            mma_16816(score[j * 2 + 1], state.q[k], b[2], b[3]);
        }
    }
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float top = state.top[r];
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            score[j][r * 2] *= kLog2Scale;
            score[j][r * 2 + 1] *= kLog2Scale;
            top = fmaxf(top, fmaxf(score[j][r * 2], score[j][r * 2 + 1]));
        }
        top = quad_max(top);
        const float shrink = exp2_approx(state.top[r] - top);
        state.top[r] = top;
        float sum = 0.0f;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            score[j][r * 2] = exp2_approx(score[j][r * 2] - top);
            score[j][r * 2 + 1] = exp2_approx(score[j][r * 2 + 1] - top);
            sum += score[j][r * 2] + score[j][r * 2 + 1];
            state.out[j][r * 2] *= shrink;
            state.out[j][r * 2 + 1] *= shrink;
        }
        state.sum[r] = state.sum[r] * shrink + sum;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {  // 16 columns of P, 16 rows of V
        const uint32_t p[4] = {pack(score[k * 2][0], score[k * 2][1]),
                               pack(score[k * 2][2], score[k * 2][3]),
                               pack(score[k * 2 + 1][0], score[k * 2 + 1][1]),
                               pack(score[k * 2 + 1][2], score[k * 2 + 1][3])};
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            uint32_t b[4];
            ldmatrix_x4_trans(b, v_tile + (k * 16 + lane % 16) * kPitch + j * 16 + lane / 16 * 8);
            mma_16816(state.out[j * 2], p, b[0], b[1]);
            mma_16816(state.out[j * 2 + 1], p, b[2], b[3]);
        }
    }
}

__device__ __forceinline__ void store(const State& state, __half* o_rows) {
    const int lane = threadIdx.x % 32, warp_row = threadIdx.x / 32 * 16;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
        float sum = state.sum[r];
        sum += __shfl_xor_sync(0xffffffffu, sum, 1);
        sum += __shfl_xor_sync(0xffffffffu, sum, 2);
        const float scale = __fdividef(1.0f, sum);
        __half* to = o_rows + (warp_row + lane / 4 + r * 8) * kHead + lane % 4 * 2;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            *reinterpret_cast<uint32_t*>(to + j * 8) =
                pack(state.out[j][r * 2] * scale, state.out[j][r * 2 + 1] * scale);
        }
    }
}

}  // namespace flash
