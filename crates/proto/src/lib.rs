//! The gRPC modules generated from `proto/`, and nothing else.

/// The contract with external scalers: client, server and messages.
#[allow(missing_debug_implementations, unreachable_pub)] // generated
pub mod externalscaler {
    tonic::include_proto!("externalscaler");
}

/// What `proto/` was compiled to: an encoded `FileDescriptorSet`.
pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
