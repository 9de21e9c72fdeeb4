// A polynomial whose coefficients stream from constant memory.

__constant__ float coefficient[4096];

extern "C" __global__ void constant_stream(const float* __restrict__ in, float* __restrict__ out,
                                           int terms) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float v = in[i];
    float a = 0.0f, b = 0.0f;
    for (int t = 0; t < terms; t += 2) {
        a = a * v + coefficient[t];
        b = b * v + coefficient[t + 1];
    }
    out[i] = a + b;
}
