// Gravity of all bodies on each body, FP32.

__device__ __forceinline__ void pull(float4 other, float4 own, float3& force) {
    const float dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
    const float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 0.01f);
    const float scale = other.w * inverse * inverse * inverse;
    force.x += dx * scale;
    force.y += dy * scale;
    force.z += dz * scale;
}

extern "C" __global__ void nbody_global(const float4* __restrict__ body, float4* __restrict__ out,
                                        int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    const float4 own = body[i];
    float3 force = make_float3(0.0f, 0.0f, 0.0f);
    for (int j = 0; j < n; ++j) pull(body[j], own, force);
    out[i] = make_float4(force.x, force.y, force.z, 0.0f);
}

extern "C" __global__ void __launch_bounds__(256) nbody_shared(const float4* __restrict__ body,
                                                               float4* __restrict__ out, int n) {
    __shared__ float4 tile[256];
    const int i = blockIdx.x * 256 + threadIdx.x;
    const float4 own = body[i];
    float3 force = make_float3(0.0f, 0.0f, 0.0f);
    for (int t = 0; t < n; t += 256) {
        tile[threadIdx.x] = body[t + threadIdx.x];
        __syncthreads();
#pragma unroll 8
        for (int j = 0; j < 256; ++j) pull(tile[j], own, force);
        __syncthreads();
    }
    out[i] = make_float4(force.x, force.y, force.z, 0.0f);
}
