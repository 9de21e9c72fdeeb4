// Monte Carlo: generator, two floats, one comparison; and a random walk with rejections.

extern "C" __global__ void random_circle(unsigned* __restrict__ out, int rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = i * 747796405u + 2891336453u, inside = 0;
    for (int r = 0; r < rounds; ++r) {
        state = state * 1664525u + 1013904223u;
        const float x = (state >> 8) * 5.9604645e-8f;
        state = state * 1664525u + 1013904223u;
        const float y = (state >> 8) * 5.9604645e-8f;
        inside += x * x + y * y < 1.0f;
    }
    out[i] = inside;
}

extern "C" __global__ void random_walk(unsigned* __restrict__ out, int rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned state = i * 747796405u + 2891336453u, steps = 0;
    int position = 0;
    for (int r = 0; r < rounds; ++r) {
        do {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            ++steps;
        } while ((state & 3) == 3);
        position += (int)(state & 3) - 1;
    }
    out[i] = steps + position;
}
