// A stack machine with a program of 16 steps: the switch over dense operation codes becomes an
// indirect branch (BRX) in the loop.

extern "C" __global__ void __launch_bounds__(128)
    switch_brx(float* __restrict__ y, const float* __restrict__ x, const int* __restrict__ program,
               int steps, int n) {
    const int i = blockIdx.x * 128 + threadIdx.x;
    float a = x[i], b = 1.0f;
#pragma unroll 1
    for (int pc = 0; pc < steps; ++pc) {
        switch (program[pc & 15]) {
            case 0: a = a + b; break;
            case 1: a = a * b; break;
            case 2: b = a - b; break;
            case 3: a = rsqrtf(a); break;
            case 4: b = __sinf(b) + x[(i + pc) % n]; break;
            case 5: a = fmaxf(a, b); break;
            case 6: b = fminf(a, 2.0f * b); break;
            case 7: a = __expf(a); b = a; break;
            case 8: a = __logf(a) * b; break;
            case 9: y[(i + pc) % n] = a; break;
            case 10: b = x[(i * 7 + pc) % n]; break;
            case 11: a = a * a + b * b; break;
            case 12: b = __cosf(a); break;
            case 13: a = __shfl_xor_sync(0xffffffffu, a, 1); break;
            case 14: b = floorf(b); break;
            case 15: a = a > b ? a * 0.5f : b * 0.25f; break;
            default: a = -a; break;
        }
    }
    y[i] = a + b;
}
