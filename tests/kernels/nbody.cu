// All-pairs gravitation: 256 bodies at a time through shared memory, one body per thread. n is a
// multiple of 256.

extern "C" __global__ void __launch_bounds__(256)
    nbody(float4* __restrict__ acceleration, const float4* __restrict__ body, float softening,
          int n) {
    __shared__ float4 tile[256];
    const float4 own = body[blockIdx.x * 256 + threadIdx.x];
    float ax = 0.0f, ay = 0.0f, az = 0.0f;
#pragma unroll 1
    for (int first = 0; first < n; first += 256) {
        tile[threadIdx.x] = body[first + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 256; ++j) {
            const float dx = tile[j].x - own.x;
            const float dy = tile[j].y - own.y;
            const float dz = tile[j].z - own.z;
            const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + softening);
            const float force = tile[j].w * inverse * inverse * inverse;
            ax += dx * force;
            ay += dy * force;
            az += dz * force;
        }
        __syncthreads();
    }
    acceleration[blockIdx.x * 256 + threadIdx.x] = make_float4(ax, ay, az, 0.0f);
}
