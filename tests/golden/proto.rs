//! The contract with external scalers, compiled by the compiler that other languages use.

use std::process::Command;

use kedge_tests::{descriptors, files};

/// Runs Google's protoc on our proto.
fn protoc(arguments: &[String]) {
    let protos = files::workspace().join("proto");
    let output = Command::new(protoc_bin_vendored::protoc_bin_path().expect("protoc for this machine"))
        .arg(format!("--proto_path={}", protos.display()))
        .args(arguments)
        .arg("externalscaler.proto")
        .output()
        .expect("protoc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn protoc_sees_what_we_compiled() {
    let folder = tempfile::tempdir().unwrap();
    let set = folder.path().join("set.bin");
    protoc(&[format!("--descriptor_set_out={}", set.display())]);
    let theirs = descriptors::decode(&std::fs::read(set).unwrap());
    let ours = descriptors::decode(kedge_proto::DESCRIPTORS);
    assert_eq!(ours, theirs);
}

#[test]
fn other_languages_can_generate_code_from_it() {
    let folder = tempfile::tempdir().unwrap();
    for language in ["python", "java", "cpp", "csharp", "ruby"] {
        protoc(&[format!("--{language}_out={}", folder.path().display())]);
    }
    let made = std::fs::read_dir(folder.path()).unwrap().count();
    assert!(made >= 5, "only {made} files or folders were made");
}

#[test]
fn the_wire_is_as_existing_scalers_know_it() {
    let file = descriptors::decode(kedge_proto::DESCRIPTORS);
    assert_eq!(file.package(), "externalscaler");
    assert_eq!(file.service.iter().map(|service| service.name()).collect::<Vec<_>>(), ["ExternalScaler"]);

    let call = |request: &str, response: &str, stream| {
        (format!(".externalscaler.{request}"), format!(".externalscaler.{response}"), stream)
    };
    let rows = [
        ("GetMetricSpec", call("ScaledObjectRef", "GetMetricSpecResponse", false)),
        ("GetMetrics", call("GetMetricsRequest", "GetMetricsResponse", false)),
        ("IsActive", call("ScaledObjectRef", "IsActiveResponse", false)),
        ("StreamIsActive", call("ScaledObjectRef", "IsActiveResponse", true)),
        ("StreamMetricSpec", call("ScaledObjectRef", "GetMetricSpecResponse", true)),
    ];
    let methods = descriptors::methods(&file);
    assert_eq!(methods.into_iter().collect::<Vec<_>>(), rows.map(|(name, call)| (name.to_owned(), call)));
}
