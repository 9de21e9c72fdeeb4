// convert_in_loop with the weights stored plus 128 and placed into the mantissa of 2^23 by a byte
// permutation; one subtraction per weight undoes both offsets, so nothing is converted.

extern "C" __global__ void __launch_bounds__(256)
    convert_by_bits(float* __restrict__ y, const unsigned* __restrict__ w_plus_128,
                    const float* __restrict__ x, int n, int steps) {
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float offset = 8388608.0f + 128.0f;
    float sum = 0.0f;
#pragma unroll 1
    for (int k = 0; k < steps; k += 4) {
        const unsigned q = w_plus_128[static_cast<size_t>(k) / 4 * n + i];
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            const float w = __uint_as_float(__byte_perm(q, 0x4b000000u, 0x7540 + j)) - offset;
            sum += w * x[k + j];
        }
    }
    y[i] = sum;
}
