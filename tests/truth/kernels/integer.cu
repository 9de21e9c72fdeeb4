// Integer arithmetic on registers.

extern "C" __global__ void integer_hash(unsigned* __restrict__ out, int rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i + 1, b = i ^ 0x9e3779b9u;
    for (int r = 0; r < rounds; ++r) {
        a ^= a << 13;
        a ^= a >> 17;
        a ^= a << 5;
        b ^= a;
        b = (b << 7) | (b >> 25);
    }
    out[i] = a ^ b;
}

extern "C" __global__ void integer_multiply(unsigned* __restrict__ out, int rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i, b = i + 1, c = i + 2, d = i + 3;
    for (int r = 0; r < rounds; ++r) {
        a = a * 1664525u + b;
        b = b * 22695477u + c;
        c = c * 1103515245u + d;
        d = d * 134775813u + a;
    }
    out[i] = a ^ b ^ c ^ d;
}

// 64-bit products: wide multiplications.
extern "C" __global__ void integer_wide(unsigned long long* __restrict__ out, int rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned long long a = i, b = i + 7;
    for (int r = 0; r < rounds; ++r) {
        a = a * 6364136223846793005ull + b;
        b = b * 2862933555777941757ull + 3037000493ull;
    }
    out[i] = a ^ b;
}

// Division by a number known only at run time.
extern "C" __global__ void integer_divide(unsigned* __restrict__ out, int rounds, unsigned by) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i * 2654435761u, sum = 0;
    for (int r = 0; r < rounds; ++r) {
        sum += a / (by + (r & 3)) + a % (by + (r & 1));
        a += 0x01234567u;
    }
    out[i] = sum;
}

extern "C" __global__ void integer_bits(unsigned* __restrict__ out, int rounds) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    unsigned a = i * 2654435761u, sum = 0;
    for (int r = 0; r < rounds; ++r) {
        sum += __popc(a) + __clz(a | 1u);
        a += 0x9e3779b9u;
    }
    out[i] = sum;
}
