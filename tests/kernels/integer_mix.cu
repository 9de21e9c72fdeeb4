// Eight independent integer hashes: IMAD, IADD3, LOP3 and SHF.

extern "C" __global__ void __launch_bounds__(256)
    integer_mix(unsigned* __restrict__ y, const unsigned* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const unsigned seed = x[i];
    unsigned state[8];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
        state[j] = seed + j * 0x9e3779b9u;
    }
#pragma unroll 1
    for (int k = 0; k < steps; ++k) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
            state[j] = state[j] * seed + state[(j + 1) % 8];
            state[j] ^= state[j] >> 15;
            state[j] = state[j] + state[(j + 5) % 8] + k;
        }
    }
    y[i] = state[0] ^ state[1] ^ state[2] ^ state[3] ^ state[4] ^ state[5] ^ state[6] ^ state[7];
}
