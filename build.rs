//! The one build script of the workspace: it compiles `proto/`.
//!
//! Cargo starts it in `crates/proto`, the package that names it. protox is protoc written in Rust, so a fresh checkout
//! needs nothing but cargo.

use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let protos = Path::new("../../proto");
    println!("cargo::rerun-if-changed={}", protos.display());

    let files = protox::Compiler::new([protos])?
        .include_source_info(true)
        .open_file("externalscaler.proto")?
        .encode_file_descriptor_set();
    fs::write(Path::new(&env::var("OUT_DIR")?).join("descriptors.bin"), &files)?;

    let files = prost::Message::decode(files.as_slice())?;
    tonic_prost_build::configure().compile_fds(files)?;
    Ok(())
}
